#include "text/piece_index.h"

#include <bit>

namespace quern::text {

PieceIndex::PieceIndex(std::span<const std::string> pieces)
    : pieces_(pieces), slots_(std::bit_ceil(2 * pieces.size() + 16)), mask_(slots_.size() - 1) {
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].empty()) continue;
    const uint64_t hash = Hash(pieces[id]);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask_;
    while (slots_[at].id >= 0 && (slots_[at].tag != tag || pieces[slots_[at].id] != pieces[id])) at = (at + 1) & mask_;
    has_duplicates_ |= slots_[at].id >= 0;
    slots_[at] = {tag, static_cast<int32_t>(id)};
  }
}

int32_t PieceIndex::Find(std::string_view piece, uint64_t hash) const {
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & mask_; slots_[at].id >= 0; at = (at + 1) & mask_) {
    if (slots_[at].tag == tag && pieces_[slots_[at].id] == piece) return slots_[at].id;
  }
  return -1;
}

}  // namespace quern::text
