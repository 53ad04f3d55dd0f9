#include "text/score_tokenizer.h"

#include <algorithm>
#include <numeric>

#include "text/utf8.h"

namespace quern::text {

ScoreTokenizer::ScoreTokenizer(format::Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index)
    : Tokenizer(std::move(vocabulary), std::move(index)) {
  for (TokenId id = 0; id < size(); ++id) {
    if (IsSpecial(id)) {
      special_trie_.Add(vocabulary_.pieces[id], id);
    } else if (vocabulary_.types[id] == format::PieceType::kUserDefined) {
      user_defined_trie_.Add(EscapeSpaces(vocabulary_.pieces[id]), id);  // some converters unescape these
    }
  }
  SetRanks();
  SetJoins();
}

void ScoreTokenizer::SetRanks() {
  std::vector<TokenId> order(vocabulary_.pieces.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<float>& scores = vocabulary_.scores;
  std::ranges::sort(order, [&](TokenId a, TokenId b) { return scores[a] > scores[b]; });
  ranks_.resize(order.size());
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && scores[order[i]] != scores[order[i - 1]]) ++rank;
    ranks_[order[i]] = rank;
  }
}

void ScoreTokenizer::SetJoins() {
  for (TokenId id = 0; id < size(); ++id) {
    std::string_view rest = vocabulary_.pieces[id];
    if (IsSpecial(id)) continue;
    char32_t previous = 0;
    bool started = false;
    while (!rest.empty()) {
      const Utf8Step step = NextUtf8(rest);
      if (step.state != Utf8State::kComplete) break;  // no text leads there
      if (started) joins_.Add(previous, step.code_point);
      started = true;
      previous = step.code_point;
      rest.remove_prefix(step.length);
    }
  }
}

void ScoreTokenizer::Encode(std::string_view text, ParseSpecial parse_special, std::vector<TokenId>* ids) const {
  SpanEncoder encoder(*this, ids);
  for (size_t begin = 0; begin < text.size();) {
    PieceTrie::Match special;
    const size_t end =
        parse_special == ParseSpecial::kYes ? special_trie_.FindNext(text, begin, &special) : text.size();
    if (end > begin) {
      std::string span = EscapeSpaces(text.substr(begin, end - begin));
      if (vocabulary_.add_space_prefix) span.insert(0, kSpaceMarkUtf8);
      for (size_t at = 0; at < span.size();) {
        PieceTrie::Match match;
        const size_t stop = user_defined_trie_.FindNext(span, at, &match);
        if (stop > at) encoder.Encode(std::string_view(span).substr(at, stop - at));
        if (match.id >= 0) ids->push_back(match.id);
        at = stop + match.length;
      }
    }
    if (special.id >= 0) ids->push_back(special.id);
    begin = end + special.length;
  }
}

int32_t ScoreTokenizer::Symbol(char32_t, std::string_view bytes) const { return FindOrdinary(bytes); }

Merge ScoreTokenizer::Find(const MergeSymbol& left, const MergeSymbol& right, std::string_view segment) const {
  const size_t length = right.end - left.begin;
  if (length > max_piece_bytes_) return {};
  const TokenId id = FindOrdinary(segment.substr(left.begin, length));
  return id < 0 ? Merge{} : Merge{ranks_[id], id};
}

void ScoreTokenizer::Emit(int32_t id, std::string_view bytes, std::vector<TokenId>* ids) const {
  if (id >= 0) {
    ids->push_back(id);
  } else {
    AppendBytes(bytes, ids);
  }
}

}  // namespace quern::text
