// GGUF v2 and v3: metadata and tensors of one model, also from a file split in parts ("-00001-of-0000N.gguf").
//
// The input is hostile: every offset, count, string length and shape is checked against the file before it is used,
// memory is allocated only for what the file really holds, and each error is Corrupt and names the field.
// Tensor data is aligned to general.alignment (32 when absent, at least 8), so every plain type may be read in place.
// Source of the layout: ggml-org/ggml, docs/gguf.md. Little-endian files only (a big-endian file is Unsupported).
// A GgufFile is immutable after Open: any thread may read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "format/tensor_table.h"

namespace quern::format {

// Types of metadata values, numbered as in the file.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// "uint32", "string", "array": for messages.
std::string_view NameOf(GgufType type);

// A metadata value. Integers of every width are widened to 64 bits; `type` keeps what the file said.
struct GgufValue {
  GgufType type = GgufType::kUint32;
  GgufType element_type = GgufType::kUint32;  // of an array; nested arrays are refused
  // Unsigned and signed integers, floats, bool and string; or arrays of those. Array strings are views into the mapped
  // file when read, so a vocabulary of 262,144 entries costs no copy.
  std::variant<uint64_t, int64_t, double, bool, std::string, std::vector<uint64_t>, std::vector<int64_t>,
               std::vector<double>, std::vector<bool>, std::vector<std::string_view>>
      data;
};

class GgufFile {
 public:
  // path may be any part of a split file; all parts must be present and agree. The keys "split.*" are left out of
  // metadata() then, since what is returned is whole.
  static Result<GgufFile> Open(const std::filesystem::path& path);

  // The same over bytes in memory, which must outlive the result; a part of a split file is Unsupported here.
  // `bytes` should be aligned as a file mapping is, since tensors are aligned relative to its start.
  static Result<GgufFile> Parse(std::span<const std::byte> bytes);

  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const TensorTable& tensors() const { return tensors_; }

  // Typed look-ups. Missing is nullopt; present with another type is Corrupt and names key, wanted and found type.
  // Integers are accepted in any width and signedness that can hold the value.
  Result<std::optional<std::string>> GetString(std::string_view key) const;
  Result<std::optional<int64_t>> GetInt(std::string_view key) const;
  Result<std::optional<double>> GetFloat(std::string_view key) const;
  Result<std::optional<bool>> GetBool(std::string_view key) const;
  // A scalar counts as an array of one repeated value when `repeat` is given: the scalar-or-array keys of gemma4 files.
  Result<std::optional<std::vector<int64_t>>> GetInts(std::string_view key, int64_t repeat = 0) const;
  Result<std::optional<std::vector<double>>> GetFloats(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> GetBools(std::string_view key, int64_t repeat = 0) const;
  Result<std::optional<std::span<const std::string_view>>> GetStrings(std::string_view key) const;

 private:
  friend class GgufReader;
  GgufFile() = default;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  TensorTable tensors_;
};

}  // namespace quern::format
