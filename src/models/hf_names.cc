#include "models/hf_names.h"

#include <algorithm>

namespace quern::models {
namespace {

constexpr std::string_view kPrefixes[] = {"model.language_model.", "language_model.model.", "model."};

std::optional<std::string_view> Lookup(std::span<const NamePair> names, std::string_view key) {
  const auto found = std::ranges::find(names, key, &NamePair::first);
  if (found == names.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<std::string> RenameTensor(std::string_view hf_name, std::span<const NamePair> global_names,
                                        std::span<const NamePair> layer_names) {
  std::string_view name = hf_name;
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      break;
    }
  }
  constexpr std::string_view kLayers = "layers.";
  if (!name.starts_with(kLayers)) {
    const auto global = Lookup(global_names, name);
    return global ? std::optional<std::string>(*global) : std::nullopt;
  }
  name.remove_prefix(kLayers.size());
  const size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > 6) return std::nullopt;
  const std::string_view layer = name.substr(0, dot);
  if (!std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const auto suffix = Lookup(layer_names, name.substr(dot + 1));
  if (!suffix) return std::nullopt;
  return "blk." + std::string(layer) + "." + std::string(*suffix);
}

}  // namespace quern::models
