// Writing a planned conversion: a GGUF file or a Hugging Face folder, under a temporary name until it is whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/convert.h"

#include "base/status.h"
#include "format/importance_matrix.h"
#include "models/tensor_export.h"

namespace quern::engine {

// InvalidArgument when something lies at `destination`: nothing is ever overwritten.
Status CheckDestination(const std::string& destination);

struct GgufWriteOptions {
  int file_type = 0;                                     // general.file_type
  const format::ImportanceMatrix* importance = nullptr;  // may be null
  std::string_view stage = "convert";                    // of the progress reports
};
// options: metadata, threads, progress.
Status WriteGgufModel(const models::Checkpoint& checkpoint, const std::vector<models::ExportTensor>& tensors,
                      const GgufWriteOptions& write, const std::string& destination, const ConvertOptions& options);

// config.json, tokenizer and model.safetensors. options: threads, progress.
Status WriteHfModel(const models::Checkpoint& checkpoint, const std::vector<models::ExportTensor>& tensors,
                    const std::string& destination, const ConvertOptions& options);

}  // namespace quern::engine
