// Renaming Hugging Face tensors to the canonical (GGUF) names and back: what the families share. One table per family
// serves both directions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quern::models {

// A rename: the Hugging Face suffix inside a layer, or the whole name, and its canonical form.
using NamePair = std::pair<std::string_view, std::string_view>;

struct NameTable {
  std::span<const NamePair> global_names;
  std::span<const NamePair> layer_names;
};

// Strips the prefixes under which text models are published ("model.language_model.", "language_model.model.",
// "model.") and renames: "layers.N.<suffix>" by `layer_names` to "blk.N.<...>", everything else by `global_names`.
// nullopt for a name that the table does not have.
std::optional<std::string> CanonicalName(const NameTable& table, std::string_view hf_name);

// The way back, with the prefix "model." of text-only checkpoints.
std::optional<std::string> HfName(const NameTable& table, std::string_view canonical_name);

}  // namespace quern::models
