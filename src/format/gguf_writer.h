// Writing GGUF v3, streaming: declare everything first, then append tensor data in the declared order. The file appears
// under its name only when Finish returns ok (AtomicFile). The key "general.alignment" sets the alignment (default 32).
// One thread at a time. Calls out of order (a key after Begin, data before it) are programmer errors and abort.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/gguf.h"

namespace quern::format {

class GgufWriter {
 public:
  GgufWriter();
  ~GgufWriter();
  GgufWriter(GgufWriter&&) noexcept;

  // Metadata in insertion order; a key set again keeps its place and takes the new value.
  void SetString(std::string_view key, std::string_view value);
  void SetUint32(std::string_view key, uint32_t value);
  void SetFloat32(std::string_view key, float value);
  void SetBool(std::string_view key, bool value);
  void SetInt32s(std::string_view key, std::span<const int32_t> values);
  void SetUint32s(std::string_view key, std::span<const uint32_t> values);
  void SetFloat32s(std::string_view key, std::span<const float> values);
  void SetBools(std::string_view key, const std::vector<bool>& values);
  void SetStrings(std::string_view key, std::span<const std::string_view> values);
  void Set(std::string_view key, const GgufValue& value);  // as read: copies metadata from file to file
  // A key that cannot be written (empty, over 65,535 bytes, not ASCII; a value outside its type) is reported by Begin.

  // Declares a tensor; shape outermost first. InvalidArgument unless the name is new, the rank 1 to 4, every dimension
  // positive and the last one whole blocks.
  Status AddTensor(std::string_view name, DType dtype, const Shape& shape);

  // Writes header and metadata. After this, AppendTensorData once per declared tensor, in order, in one or more pieces.
  Status Begin(const std::filesystem::path& path, AtomicFile::IfExists if_exists);
  // Pads to the alignment when a tensor is complete. A piece may not reach into the next tensor: Internal.
  Status AppendTensorData(std::span<const std::byte> bytes);
  Status Finish();  // Internal if bytes are missing, ResourceExhausted on a full disk

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::format
