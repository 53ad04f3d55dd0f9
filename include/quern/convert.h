// Converting and quantising model files. Output appears whole or not at all; an existing file is never overwritten.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quern/error.h"
#include "quern/model.h"

namespace quern {

struct TensorPlan {
  std::string name;
  std::vector<int64_t> shape;
  std::string from, to;  // dtypes
  std::string reason;    // why `to` is not the type asked for; may be empty
  int64_t bytes_after = 0;
};

struct ConvertOptions {
  // "gguf" or "safetensors".
  std::string to = "gguf";
  // F32, F16, BF16, or empty: keep. For `quantize`: any quantised type.
  std::string dtype;
  std::vector<std::pair<std::string, std::string>> tensor_types;  // glob, dtype: later ones win
  std::vector<std::pair<std::string, std::string>> metadata;      // key, value: added or replaced in GGUF output
  std::string imatrix;  // importance matrix file (GGUF, or llama.cpp's .dat); quantise only
  int threads = 0;
  bool dry_run = false;  // only the plan
  ProgressFn progress;
};

struct ConvertResult {
  std::vector<TensorPlan> plan;
  int64_t bytes_before = 0, bytes_after = 0;
};

// Hugging Face folder or GGUF to GGUF or safetensors, floats only (quantised tensors keep their type in GGUF and are
// decoded for safetensors).
Result<ConvertResult> ConvertModel(const ModelFile& source, const std::string& destination,
                                   const ConvertOptions& options);
// To a GGUF whose matrices are options.dtype where shape and use allow it. Norms, router and rope factors stay F32; the
// head and embedding follow the rules of docs/quantization.md.
Result<ConvertResult> QuantizeModel(const ModelFile& source, const std::string& destination,
                                    const ConvertOptions& options);

}  // namespace quern
