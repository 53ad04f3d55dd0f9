// Random-weight models at the published shapes of Gemma 4, for measuring speed and memory where no weights may be
// downloaded. Metadata and tensors are those of a real GGUF file, so other programs load them too.
//
// Weights are scaled so that activations stay finite and logits spread (standard deviation about 2.5): matrices have
// 1 / sqrt(K), norms lie near 1, and k_norm near 1/8, because attention does not divide by sqrt(Dh). The text is
// nonsense.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "models/gemma4/config.h"
#include "models/quantize_plan.h"

namespace quern::tools {

struct SyntheticOptions {
  std::string preset = "E2B";  // E2B, E4B, 26B-A4B, 31B
  std::string type = "Q4_0";   // as `quern quantize --type`
  std::vector<models::TypeOverride> tensor_types;
  int num_layers = 0;  // 0: the preset's
  uint64_t seed = 1;
  int num_threads = 1;
  std::function<void(int64_t done, int64_t total)> progress;
};

std::vector<std::string> PresetNames();
// Layer types keep the preset's period, with the last layer full; the shared tail shrinks in proportion.
Result<models::gemma4::Gemma4Config> PresetConfig(const std::string& preset, int num_layers);

struct SyntheticResult {
  int64_t num_parameters = 0, num_bytes = 0;  // of the tensors
  int num_tensors = 0;
};
// What would be written.
Result<SyntheticResult> PlanSyntheticModel(const SyntheticOptions& options);
// An existing file is InvalidArgument.
Result<SyntheticResult> WriteSyntheticModel(const SyntheticOptions& options, const std::filesystem::path& path);

}  // namespace quern::tools
