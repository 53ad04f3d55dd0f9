// Small and full-size files for the tests, benchmarks and fuzzers of this room: made by code, never checked in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "format/gguf.h"

namespace quern::format {

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path Write(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// Writes a GGUF file field by field, valid or not: independent of GgufWriter, so that the reader is not tested against
// its own mirror image.
class GgufBytes {
 public:
  GgufBytes& Header(uint32_t version, uint64_t num_tensors, uint64_t num_keys);
  GgufBytes& U8(uint8_t value) { return Number(value); }
  GgufBytes& U32(uint32_t value) { return Number(value); }
  GgufBytes& U64(uint64_t value) { return Number(value); }
  GgufBytes& F32(float value) { return Number(value); }
  GgufBytes& String(std::string_view text);
  GgufBytes& Key(std::string_view key, GgufType type) { return String(key).U32(static_cast<uint32_t>(type)); }
  // dims in the order of the file: contiguous first.
  GgufBytes& Tensor(std::string_view name, std::initializer_list<uint64_t> dims, uint32_t ggml_type, uint64_t offset);
  GgufBytes& PadTo(size_t alignment);
  GgufBytes& Zeros(size_t count);
  const std::string& text() const { return text_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }

 private:
  template <typename T>
  GgufBytes& Number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  std::string text_;
};

// Valid files of a few hundred bytes that use every feature: all metadata types, several dtypes.
std::string SmallGguf();
std::string SmallSafetensors();
// A BPE tokenizer of about 270 pieces with byte fallback, specials, and merges in the given form.
enum class MergeForm : uint8_t { kPairs, kStrings };
std::string SmallTokenizerJson(MergeForm form = MergeForm::kPairs);
std::string SmallTokenizerConfig();
std::string SmallVocabularyGguf();      // a gemma4 vocabulary of five pieces
std::string SmallSentencePieceModel();  // BPE, five pieces

// Files with the sizes of the published Gemma 4 tokenizer: 262,144 pieces and 514,906 merges, indented JSON of some 33
// MB.
struct VocabularySize {
  int num_pieces = 262'144;
  int num_merges = 514'906;
};
std::string FullSizeTokenizerJson(VocabularySize size = {});
Status WriteFullSizeGguf(const std::filesystem::path& path, VocabularySize size = {});

}  // namespace quern::format
