// Tokenizer: text to token ids and back. Built once from a Vocabulary, immutable afterwards: any thread may use it.
//
// Special tokens are recognised in text only when asked (rendered templates); text typed by a user never becomes one.
// Special are control and unknown pieces, the markers of the chat formats whatever type the file gives them, and for
// BPE every user-defined piece. The other user-defined pieces of a score-based vocabulary (newline runs, HTML tags) are
// matched first in all text, as SentencePiece does.
// No id is a constant anywhere: SpecialIds is filled by looking strings up, because vocabularies number them
// differently.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/vocabulary.h"
#include "text/piece_index.h"

namespace quern::text {

using TokenId = int32_t;

// Ids by name; absent when the vocabulary has no such string. Gemma 4 and Gemma 3 markers.
struct SpecialIds {
  std::optional<TokenId> bos, eos, unk, pad, mask;
  // gemma4
  std::optional<TokenId> turn_open, turn_close;                    // <|turn> <turn|>
  std::optional<TokenId> channel_open, channel_close;              // <|channel> <channel|>
  std::optional<TokenId> think;                                    // <|think|>
  std::optional<TokenId> tool_open, tool_close;                    // <|tool> <tool|>
  std::optional<TokenId> tool_call_open, tool_call_close;          // <|tool_call> <tool_call|>
  std::optional<TokenId> tool_response_open, tool_response_close;  // <|tool_response> <tool_response|>
  std::optional<TokenId> quote;                                    // <|"|>
  std::optional<TokenId> image, audio, video;                      // <|image|> <|audio|> <|video|>
  // gemma3
  std::optional<TokenId> start_of_turn, end_of_turn;  // <start_of_turn> <end_of_turn>
};

enum class ParseSpecial : uint8_t { kNo, kYes };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of `text` to `ids`. Never adds BOS or EOS. Invalid UTF-8 is encoded byte by byte.
  virtual void Encode(std::string_view text, ParseSpecial parse_special, std::vector<TokenId>* ids) const = 0;

  std::vector<TokenId> Encode(std::string_view text, ParseSpecial parse_special) const {
    std::vector<TokenId> ids;
    Encode(text, parse_special, &ids);
    return ids;
  }

  // The bytes a token stands for in output: "▁" turned into a space, byte tokens into their byte, control tokens into
  // nothing unless `show_special`. An id outside the vocabulary gives "".
  virtual std::string_view TokenBytes(TokenId id, bool show_special = false) const;
  // The piece as the vocabulary spells it.
  std::string_view Piece(TokenId id) const;
  std::optional<TokenId> Find(std::string_view piece) const;  // duplicates: the later id, as llama.cpp keeps it
  // All bytes of a sequence; may hold invalid UTF-8 when the ids do (StreamDecoder repairs).
  std::string Decode(std::span<const TokenId> ids, bool show_special = false) const;

  int size() const { return static_cast<int>(vocabulary_.pieces.size()); }
  const format::Vocabulary& vocabulary() const { return vocabulary_; }
  const SpecialIds& special() const { return special_; }
  bool IsControl(TokenId id) const;
  // Never made from plain text (see above). Includes every control token.
  bool IsSpecial(TokenId id) const;
  // Ids after which generation ends: the ids of <eos>, <turn|>, <|tool_response>, <end_of_turn> where the vocabulary
  // has them, united with those the file declares.
  std::span<const TokenId> end_ids() const { return end_ids_; }
  // Adds ids that a sidecar file (generation_config.json) declares. Not thread-safe: before the tokenizer is shared.
  void AddEndIds(std::span<const TokenId> ids);

 protected:
  // MakeTokenizer is the way in: it has checked the vocabulary. `index` is over vocabulary.pieces; moving a vector
  // does not move its strings.
  Tokenizer(format::Vocabulary vocabulary, std::shared_ptr<const PieceIndex> index);

  // The id of a piece that plain text may become, else -1.
  TokenId FindOrdinary(std::string_view piece) const { return FindOrdinary(piece, PieceIndex::Hash(piece)); }
  TokenId FindOrdinary(std::string_view piece, uint64_t hash) const;
  bool IsOrdinary(TokenId id) const { return uses_[id] == Use::kOrdinary; }
  void AppendBytes(std::string_view bytes, std::vector<TokenId>* ids) const {
    for (const char byte : bytes) ids->push_back(byte_ids_[static_cast<uint8_t>(byte)]);
  }

  format::Vocabulary vocabulary_;
  SpecialIds special_;
  std::vector<TokenId> end_ids_;  // ascending
  std::shared_ptr<const PieceIndex> index_;
  std::array<TokenId, 256> byte_ids_;
  size_t max_piece_bytes_ = 0;

 private:
  enum class Use : uint8_t { kOrdinary, kByte, kSpecial, kNever };
  void SetUses();
  void SetOutput();

  std::vector<Use> uses_;          // by id: what may become this token
  std::string output_;             // all output bytes, joined
  std::vector<uint32_t> offsets_;  // by id: where its bytes begin; one more at the end
};

// Chooses the encoder by vocabulary.kind; kViterbi is Unsupported. Corrupt when the vocabulary contradicts itself or
// lacks one of the 256 byte tokens. Merges of strings that are no entries take part as the strings they are; merges
// with an empty or ill-formed half are ignored, with a count in the log.
Result<std::shared_ptr<Tokenizer>> MakeTokenizer(format::Vocabulary vocabulary);

}  // namespace quern::text
