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
  kUnigram,  // score-based SentencePiece BPE (Gemma 2 and 3: "llama" in GGUF, model_type BPE in tokenizer.model)
  kViterbi,  // a unigram language model proper: the segmentation of the highest summed score ("Unigram" in
             // tokenizer.json)
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
  std::vector<std::string> pieces;  // by id; the same string may occur twice; "" where a file leaves an id free
  std::vector<PieceType> types;     // by id, same length; kUnused where a file leaves an id free
  std::vector<float> scores;        // by id for kUnigram and kViterbi, else empty
  std::vector<std::pair<std::string, std::string>> merges;  // by rank for kBpe
  bool add_bos = false;                                     // a leading <bos> is wanted on plain text
  bool add_eos = false;
  bool add_space_prefix = false;
  std::optional<int32_t> bos, eos, eot, unk, pad;  // ids the file declares; absent when it does not
  std::vector<int32_t> suppress;                   // tokenizer.ggml.suppress_tokens
  std::string chat_template;                       // empty when the file carries none
};

// tokenizer.json of Hugging Face tokenizers (BPE model with byte_fallback, and Unigram), with tokenizer_config.json
// and chat_template.jinja beside it for the chat template and the names of special tokens when those files exist.
// Anything in the file that this reader does not implement (other models, other normalizers) is Unsupported and named;
// docs/formats/tokenizer.md lists what is accepted. Limit: 256 MiB.
// Types: added tokens with special=true are kControl except the seven that Gemma 4 declares visible
// (tool call, tool response, quote and channel markers), which are looked up by their strings; the rest kUserDefined.
Result<Vocabulary> ReadTokenizerJson(const std::filesystem::path& path);

// The same from text; tokenizer_config is empty when there is none. `what` names the tokenizer in messages.
Result<Vocabulary> ParseTokenizerJson(std::string_view tokenizer, std::string_view tokenizer_config,
                                      std::string_view what);

// tokenizer.ggml.*: models "gemma4" (BPE) and "llama" (score-based). Wrong token types of known files are mended
// (the strings decide: "<0xNN>" is a byte, "<|tool_response>" is user-defined, "</s>" is normal unless declared as
// eos). Defaults of absent keys are llama.cpp's: a <bos> is wanted; a space prefix for "llama" only.
Result<Vocabulary> ReadGgufVocabulary(const GgufFile& file);

// A SentencePiece tokenizer.model of type BPE (kUnigram) or Unigram (kViterbi), with tokenizer_config.json and
// chat_template.jinja beside it as above. The protobuf is read here: the public interface of libsentencepiece shows
// neither the model type nor user-defined pieces nor the normalizer, and aborts on some malformed files. A normalizer
// that does more than mark spaces is Unsupported. Limit: 64 MiB.
Result<Vocabulary> ReadSentencePieceModel(const std::filesystem::path& path);

// The same from bytes, without companions.
Result<Vocabulary> ParseSentencePieceModel(std::string_view model);

}  // namespace quern::format
