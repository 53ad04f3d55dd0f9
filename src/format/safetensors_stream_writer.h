// Writing one safetensors file, streaming: declare everything first, then append the data in the declared order. The
// file appears under its name only when Finish returns ok. One thread at a time; calls out of order are programmer
// errors.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "tensor/tensor_view.h"

namespace quern::format {

// Whether safetensors has a name for the type: plain numbers, not quantised formats.
bool IsSafetensorsType(DType dtype);

class SafetensorsStreamWriter {
 public:
  // Larger elements must be declared first: every tensor then is aligned without padding, which the format forbids.
  // InvalidArgument for a name used twice or a type of the wrong order; Unsupported for a quantised type.
  Status AddTensor(std::string_view name, DType dtype, const Shape& shape);
  Status Begin(const std::filesystem::path& path, const std::map<std::string, std::string, std::less<>>& metadata,
               AtomicFile::IfExists if_exists);
  Status AppendTensorData(std::span<const std::byte> bytes);
  Status Finish();  // Internal when bytes are missing or too many

 private:
  struct Declared {
    std::string name;
    DType dtype;
    Shape shape;
  };
  Result<std::string> Header(const std::map<std::string, std::string, std::less<>>& metadata) const;

  std::vector<Declared> tensors_;
  int64_t expected_bytes_ = 0;
  uint64_t header_bytes_ = 0;
  std::optional<AtomicFile> file_;
};

}  // namespace quern::format
