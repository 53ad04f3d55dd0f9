#include "text/bpe_tokenizer.h"

#include <algorithm>

#include "base/log.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

// The last code point; false when the string is empty or ends in something else.
bool LastCodePoint(std::string_view text, char32_t* code_point) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<uint8_t>(text[begin - 1]) & 0xC0) == 0x80) --begin;
  if (begin == 0) return false;
  const Utf8Step step = NextUtf8(text.substr(begin - 1));
  *code_point = step.code_point;
  return step.state == Utf8State::kComplete && begin - 1 + step.length == text.size();
}

}  // namespace

BpeTokenizer::BpeTokenizer(format::Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index)
    : Tokenizer(std::move(vocabulary), std::move(index)), merges_(vocabulary_.merges.size()) {
  ascii_symbols_.fill(-1);
  Names extra_names;
  AddMerges(&extra_names);
  for (const auto& [name, id] : extra_names) AddSymbol(name, id);
  for (TokenId id = 0; id < size(); ++id) {
    const std::string& piece = vocabulary_.pieces[id];
    if (IsSpecial(id)) special_trie_.Add(piece, id);
    if (NextUtf8(piece).length == piece.size() && FindOrdinary(piece) == id) AddSymbol(piece, id);
  }
  // A run of newlines stays in one segment even where no merge needs it, so that EmitWhole sees all of it.
  joins_.Add('\n', '\n');
}

void BpeTokenizer::AddMerges(Names* extra_names) {
  // Hashing a block ahead of looking it up lets the cache misses of half a million merges overlap.
  constexpr size_t kBlock = 16;
  std::array<std::pair<uint64_t, uint64_t>, kBlock> hashes;
  const auto& merges = vocabulary_.merges;
  size_t ignored = 0;
  TokenId product_hint = 0;
  for (size_t begin = 0; begin < merges.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, merges.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = {PieceIndex::Hash(merges[begin + i].first), PieceIndex::Hash(merges[begin + i].second)};
      index_->Prefetch(hashes[i].first);
      index_->Prefetch(hashes[i].second);
    }
    for (size_t i = 0; i < count; ++i) {
      ignored += !AddMerge(begin + i, hashes[i].first, hashes[i].second, &product_hint, extra_names);
    }
  }
  if (ignored > 0) spdlog::warn("tokenizer: {} merges have an empty or ill-formed half and are ignored", ignored);
  if (!extra_names->empty()) {
    spdlog::debug("tokenizer: merges name {} strings that are no vocabulary entry", extra_names->size());
  }
}

// False when the merge can never apply because of how it is written.
bool BpeTokenizer::AddMerge(size_t rank, uint64_t left_hash, uint64_t right_hash, TokenId* product_hint,
                            Names* extra_names) {
  const auto& [left, right] = vocabulary_.merges[rank];
  char32_t last = 0;
  const Utf8Step first = NextUtf8(right);
  if (!LastCodePoint(left, &last) || first.state != Utf8State::kComplete) return false;
  // Runs of newlines and the rest of the text are encoded apart, so a merge across that border can never apply.
  if ((last == '\n') != (first.code_point == '\n')) return true;
  joins_.Add(last, first.code_point);
  const auto symbol_of = [&](const std::string& piece, TokenId id) {
    return id >= 0 ? id : extra_names->emplace(piece, size() + static_cast<int32_t>(extra_names->size())).first->second;
  };
  const std::string product = left + right;
  const int32_t left_id = symbol_of(left, FindOrdinary(left, left_hash));
  const int32_t right_id = symbol_of(right, FindOrdinary(right, right_hash));
  merges_[Pair(left_id, right_id)] = {static_cast<uint32_t>(rank),
                                      symbol_of(product, FindProduct(product, product_hint))};
  return true;
}

// Merges made from a SentencePiece vocabulary come in the order of their products, so the product is mostly that of the
// merge before or the next entry.
TokenId BpeTokenizer::FindProduct(std::string_view product, TokenId* hint) const {
  TokenId id = *hint;
  if (index_->has_duplicates() || !IsOrdinary(id) || vocabulary_.pieces[id] != product) {
    if (++id == size() || index_->has_duplicates() || !IsOrdinary(id) || vocabulary_.pieces[id] != product) {
      id = FindOrdinary(product);
    }
  }
  if (id >= 0) *hint = id;
  return id;
}

void BpeTokenizer::AddSymbol(std::string_view piece, int32_t id) {
  const Utf8Step step = NextUtf8(piece);
  if (step.state != Utf8State::kComplete || step.length != piece.size()) return;
  if (step.code_point < 128) {
    ascii_symbols_[step.code_point] = id;
  } else {
    symbols_[step.code_point] = id;
  }
}

void BpeTokenizer::Encode(std::string_view text, ParseSpecial parse_special, std::vector<TokenId>* ids) const {
  SpanEncoder encoder(*this, ids);
  for (size_t begin = 0; begin < text.size();) {
    PieceTrie::Match special;
    const size_t end =
        parse_special == ParseSpecial::kYes ? special_trie_.FindNext(text, begin, &special) : text.size();
    if (end > begin) encoder.Encode(EscapeSpaces(text.substr(begin, end - begin)));
    if (special.id >= 0) ids->push_back(special.id);
    begin = end + special.length;
  }
}

int32_t BpeTokenizer::Symbol(char32_t code_point, std::string_view) const {
  if (code_point < 128) return ascii_symbols_[code_point];
  const int32_t* id = symbols_.Find(code_point);
  return id == nullptr ? -1 : *id;
}

Merge BpeTokenizer::Find(const MergeSymbol& left, const MergeSymbol& right, std::string_view) const {
  if (left.id < 0 || right.id < 0) return {};
  const Merge* merge = merges_.Find(Pair(left.id, right.id));
  return merge == nullptr ? Merge{} : *merge;
}

void BpeTokenizer::Emit(int32_t id, std::string_view bytes, std::vector<TokenId>* ids) const {
  if (id >= 0 && id < size()) {
    ids->push_back(id);
  } else {
    AppendBytes(bytes, ids);
  }
}

bool BpeTokenizer::EmitWhole(std::string_view segment, std::vector<TokenId>* ids) const {
  if (segment[0] != '\n' || segment.size() > max_piece_bytes_) return false;
  const TokenId id = FindOrdinary(segment);
  if (id >= 0) ids->push_back(id);
  return id >= 0;
}

}  // namespace quern::text
