#include "models/hf_names.h"

#include <algorithm>

namespace quern::models {
namespace {

constexpr std::string_view kPrefixes[] = {"model.language_model.", "language_model.model.", "model."};
constexpr std::string_view kHfLayers = "layers.";
constexpr std::string_view kCanonicalLayers = "blk.";

std::optional<std::string_view> Lookup(std::span<const NamePair> names, std::string_view key,
                                       std::string_view NamePair::*from, std::string_view NamePair::*to) {
  const auto found = std::ranges::find(names, key, from);
  if (found == names.end()) return std::nullopt;
  return (*found).*to;
}

// `name` renamed by one direction of the table; layers are "<from_layers>N.<suffix>" and "<to_layers>N.<suffix>".
std::optional<std::string> Rename(const NameTable& table, std::string_view name, std::string_view from_layers,
                                  std::string_view to_layers, std::string_view NamePair::*from,
                                  std::string_view NamePair::*to) {
  if (!name.starts_with(from_layers)) {
    const auto global = Lookup(table.global_names, name, from, to);
    return global ? std::optional<std::string>(*global) : std::nullopt;
  }
  name.remove_prefix(from_layers.size());
  const size_t dot = name.find('.');
  constexpr size_t kMaxDigits = 6;
  if (dot == 0 || dot == std::string_view::npos || dot > kMaxDigits) return std::nullopt;
  const std::string_view layer = name.substr(0, dot);
  if (!std::ranges::all_of(layer, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const auto suffix = Lookup(table.layer_names, name.substr(dot + 1), from, to);
  if (!suffix) return std::nullopt;
  return std::string(to_layers) + std::string(layer) + "." + std::string(*suffix);
}

}  // namespace

std::optional<std::string> CanonicalName(const NameTable& table, std::string_view hf_name) {
  for (const std::string_view prefix : kPrefixes) {
    if (hf_name.starts_with(prefix)) {
      hf_name.remove_prefix(prefix.size());
      break;
    }
  }
  return Rename(table, hf_name, kHfLayers, kCanonicalLayers, &NamePair::first, &NamePair::second);
}

std::optional<std::string> HfName(const NameTable& table, std::string_view canonical_name) {
  auto name = Rename(table, canonical_name, kCanonicalLayers, kHfLayers, &NamePair::second, &NamePair::first);
  if (name) name->insert(0, "model.");
  return name;
}

}  // namespace quern::models
