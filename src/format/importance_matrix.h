// ImportanceMatrix: how much each input of each matrix matters, measured on a text by another program: the mean of the
// squared activations. Reads the files of llama.cpp's imatrix tool, GGUF (tensors "<name>.in_sum2" and "<name>.counts")
// and the older binary form. Sources: llama.cpp tools/imatrix and common/imatrix-loader.cpp for the layouts.
//
// Hostile input: sizes are checked against the file, and values must be finite and not negative; errors are Corrupt.
// Immutable after opening: any thread may read.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace quern::format {

class ImportanceMatrix {
 public:
  static Result<ImportanceMatrix> Open(const std::filesystem::path& path);

  // [K] for a matrix [N, K], [E * K] for experts [E, N, K]. Empty when the file has none for this tensor.
  std::span<const float> Find(std::string_view tensor_name) const;
  size_t size() const { return entries_.size(); }

 private:
  static Result<ImportanceMatrix> OpenGguf(const std::filesystem::path& path);
  static Result<ImportanceMatrix> OpenLegacy(const std::filesystem::path& path);
  Status Add(std::string_view name, std::vector<float> values);

  std::map<std::string, std::vector<float>, std::less<>> entries_;
};

}  // namespace quern::format
