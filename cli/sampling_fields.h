// The sampling parameters by name: one table behind the flags of chat, generate and bench and behind /set.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "quern/generate.h"

#include "cli/status.h"

namespace CLI {
class App;
}

namespace quern::cli {

struct SamplingField {
  std::string_view name;   // "top-p"
  std::string_view range;  // "above 0 to 1"
  std::string_view meaning;
  bool is_list = false;  // values are added, "-" in /set clears
  Status (*set)(SamplingParams& params, std::string_view text);
  std::string (*show)(const SamplingParams& params);  // empty: unset, the model's default holds
};
std::span<const SamplingField> SamplingFields();

// Finds by name, '-' or '_'; null when there is none.
const SamplingField* FindSamplingField(std::string_view name);

// Sets one field; when the value is bad or out of range params stay as they were and the error names the range.
Status SetSamplingField(SamplingParams& params, const SamplingField& field, std::string_view text);

// --temperature, --top-p, ... on app.
void AddSamplingFlags(CLI::App& app, SamplingParams* params);

}  // namespace quern::cli
