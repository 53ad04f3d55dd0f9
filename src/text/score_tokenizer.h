// Score-based SentencePiece BPE with byte fallback: Gemma 2 and 3, "llama" in GGUF. Steps: special tokens where asked,
// add_space_prefix, ' ' to "▁", user-defined pieces taken first (longest match, never merged further), then the
// adjacent pair whose concatenation is the piece with the highest score, the leftmost on ties, and bytes for what is
// left. Pieces of type kUnused never arise: SentencePiece would split them again, and no known Gemma file has any.
#pragma once

#include "text/piece_trie.h"
#include "text/span_encoder.h"
#include "text/tokenizer.h"

namespace quern::text {

class ScoreTokenizer final : public Tokenizer {
 public:
  ScoreTokenizer(format::Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index);

  using Tokenizer::Encode;
  void Encode(std::string_view text, ParseSpecial parse_special, std::vector<TokenId>* ids) const override;

  // Rules of SpanEncoder. Symbols are vocabulary ids.
  int32_t Symbol(char32_t code_point, std::string_view bytes) const;
  Merge Find(const MergeSymbol& left, const MergeSymbol& right, std::string_view segment) const;
  void Emit(int32_t id, std::string_view bytes, std::vector<TokenId>* ids) const;
  bool EmitWhole(std::string_view, std::vector<TokenId>*) const { return false; }
  const JoinTable& joins() const { return joins_; }
  uint32_t num_ranks() const { return static_cast<uint32_t>(ranks_.size()); }
  using Tokenizer::Find;

 private:
  void SetRanks();
  void SetJoins();

  PieceTrie special_trie_;       // over text as it is
  PieceTrie user_defined_trie_;  // over escaped text
  std::vector<uint32_t> ranks_;  // by id: 0 for the highest score, equal for equal scores
  JoinTable joins_;
};

}  // namespace quern::text
