// BPE over code points with ranked merges and byte fallback: Gemma 4. Steps, in order: special tokens where asked, ' '
// to "▁", runs of newlines apart from the rest, a newline run that is a piece taken whole, merges, bytes for what is
// left.
#pragma once

#include <string>
#include <unordered_map>

#include "text/piece_trie.h"
#include "text/span_encoder.h"
#include "text/tokenizer.h"

namespace quern::text {

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(format::Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index);

  using Tokenizer::Encode;
  void Encode(std::string_view text, ParseSpecial parse_special, std::vector<TokenId>* ids) const override;

  // Rules of SpanEncoder. Symbols are vocabulary ids, and from size() on strings that only merges name.
  int32_t Symbol(char32_t code_point, std::string_view bytes) const;
  Merge Find(const MergeSymbol& left, const MergeSymbol& right, std::string_view segment) const;
  void Emit(int32_t id, std::string_view bytes, std::vector<TokenId>* ids) const;
  bool EmitWhole(std::string_view segment, std::vector<TokenId>* ids) const;
  const JoinTable& joins() const { return joins_; }
  uint32_t num_ranks() const { return static_cast<uint32_t>(vocabulary_.merges.size()); }
  using Tokenizer::Find;

 private:
  using Names = std::unordered_map<std::string, int32_t>;

  void AddMerges(Names* extra_names);
  bool AddMerge(size_t rank, uint64_t left_hash, uint64_t right_hash, TokenId* product_hint, Names* extra_names);
  TokenId FindProduct(std::string_view product, TokenId* hint) const;
  void AddSymbol(std::string_view piece, int32_t id);

  static uint64_t Pair(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | uint32_t(right);
  }

  PieceTrie special_trie_;
  std::array<int32_t, 128> ascii_symbols_;
  FlatMap<int32_t> symbols_;  // code point to symbol
  FlatMap<Merge> merges_;     // Pair(left, right)
  JoinTable joins_;
};

}  // namespace quern::text
