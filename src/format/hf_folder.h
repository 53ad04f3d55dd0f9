// HfFolder: a Hugging Face model folder as it lies on disk: config.json, its optional companions, and the weights.
//
// The JSON documents are handed out as parsed, each known to be an object; what their fields mean is the business of
// models. The folder is hostile input like any file. Immutable after opening: any thread may read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "format/safetensors.h"

namespace quern::format {

struct HfFolder {
  Json config;                            // config.json
  std::optional<Json> generation_config;  // generation_config.json, when present
  std::optional<Json> tokenizer_config;   // tokenizer_config.json, when present
  std::filesystem::path path;
  SafetensorsFile weights;  // empty unless asked for
};

enum class WithWeights : uint8_t { kNo, kYes };

// NotFound when the folder, its config.json or (if asked for) its weights are missing; a JSON file over 16 MiB is
// ResourceExhausted; one that is not a JSON object is Corrupt.
Result<HfFolder> OpenHfFolder(const std::filesystem::path& path, WithWeights with_weights);

// One configuration document: strict JSON (base/json.h) whose top value is an object. `what` names it in messages.
Result<Json> ParseHfConfig(std::string_view text, std::string_view what);

}  // namespace quern::format
