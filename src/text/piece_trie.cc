#include "text/piece_trie.h"

namespace quern::text {

void PieceTrie::Add(std::string_view piece, int32_t id) {
  if (piece.empty()) return;
  starts_[static_cast<uint8_t>(piece[0])] = true;
  int32_t node = 0;
  for (const char byte : piece) {
    int32_t& child = children_[Edge(node, byte)];
    if (child == 0) {
      child = static_cast<int32_t>(ids_.size());
      ids_.push_back(-1);
    }
    node = child;
  }
  ids_[node] = id;
}

PieceTrie::Match PieceTrie::LongestPrefix(std::string_view text) const {
  Match best;
  if (text.empty() || !starts_[static_cast<uint8_t>(text[0])]) return best;
  int32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int32_t* child = children_.Find(Edge(node, text[i]));
    if (child == nullptr) break;
    node = *child;
    if (ids_[node] >= 0) best = {ids_[node], i + 1};
  }
  return best;
}

size_t PieceTrie::FindNext(std::string_view text, size_t from, Match* match) const {
  for (size_t at = from; at < text.size(); ++at) {
    *match = LongestPrefix(text.substr(at));
    if (match->id >= 0) return at;
  }
  return text.size();
}

}  // namespace quern::text
