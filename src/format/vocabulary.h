// Vocabulary: what a tokenizer file says, whatever its form: tokenizer.json, GGUF metadata or a SentencePiece model.
// Turning it into an encoder is the text room's business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "format/gguf.h"

namespace quern::format {

enum class VocabularyKind : uint8_t {
  kBpe,      // merges by rank (Gemma 4)
  kUnigram,  // score-based SentencePiece BPE (Gemma 2 and 3: "llama" in GGUF)
};

enum class PieceType : uint8_t {
  kNormal,
  kByte,         // "<0x00>" ... "<0xFF>"
  kControl,      // hidden in output, matched in text only where special tokens are parsed
  kUserDefined,  // visible in output, matched in text likewise
  kUnknown,
  kUnused,
};

struct Vocabulary {
  VocabularyKind kind = VocabularyKind::kBpe;
  std::vector<std::string> pieces;       // by id
  std::vector<PieceType> types;          // by id, same length
  std::vector<float> scores;             // by id for kUnigram, else empty
  std::vector<std::pair<std::string, std::string>> merges;  // by rank for kBpe
  bool add_bos = false;                  // a leading <bos> is wanted on plain text
  bool add_eos = false;
  bool add_space_prefix = false;
  std::optional<int32_t> bos, eos, eot, unk, pad;  // ids the file declares; absent when it does not
  std::vector<int32_t> suppress;         // tokenizer.ggml.suppress_tokens
  std::string chat_template;             // empty when the file carries none
};

// tokenizer.json of Hugging Face tokenizers (BPE model with byte_fallback, and Unigram), with tokenizer_config.json
// beside it for the chat template and the names of special tokens when that file exists. Anything in the file that this
// reader does not implement (other models, other normalizers) is Unsupported and named. Limit: 256 MiB.
// Types: added tokens with special=true are kControl except the seven that Gemma 4 declares visible
// (tool call, tool response, quote and channel markers), which are looked up by their strings; the rest kUserDefined.
Result<Vocabulary> ReadTokenizerJson(const std::filesystem::path& path);

// tokenizer.ggml.*: models "gemma4" (BPE) and "llama" (score-based). Wrong token types of known files are mended
// (the strings decide: "<0xNN>" is a byte, "<|tool_response>" is user-defined, "</s>" is normal).
Result<Vocabulary> ReadGgufVocabulary(const GgufFile& file);

// tokenizer.model, read with libsentencepiece.
Result<Vocabulary> ReadSentencePieceModel(const std::filesystem::path& path);

}  // namespace quern::format
