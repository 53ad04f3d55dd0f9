// Looking at model files without loading them: headers only, so a 15 GB file answers at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/error.h"
#include "quern/model.h"

namespace quern {

struct InspectedTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;  // outermost first
  int64_t num_bytes = 0;
};

struct MemoryNeed {
  int64_t weight_bytes = 0;  // the file's own size of the weights
  int64_t packed_bytes = 0;  // memory of the repacked copies
  int64_t cache_bytes = 0;   // for `sequences` sequences of `context` positions
  int64_t scratch_bytes = 0;
};

struct InspectedModel {
  std::string format;        // "GGUF v3", "safetensors"
  std::string architecture;  // as the file says, also when it is not supported
  std::string name;
  std::string quantization;
  std::string support;  // empty: this build can run it; else why not
  int64_t num_parameters = 0, file_bytes = 0;
  std::vector<std::pair<std::string, std::string>> facts;     // "layers": "35", in a fixed order
  std::vector<std::pair<std::string, std::string>> metadata;  // key: value as JSON text; long arrays abbreviated
  std::vector<InspectedTensor> tensors;
  std::string chat_template, license;
};
Result<InspectedModel> InspectModel(const ModelFile& file);
// One metadata value in full, as JSON text. NotFound names the nearest keys.
Result<std::string> InspectMetadata(const ModelFile& file, std::string_view key);
Result<MemoryNeed> EstimateMemory(const ModelFile& file, int64_t context, int sequences);
// SHA-256 of each file of the model.
Result<std::vector<std::pair<std::string, std::string>>> HashModel(const ModelFile& file);

}  // namespace quern
