// Renaming Hugging Face tensors: what the families share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quern::models {

// A rename: the Hugging Face suffix inside a layer, or the whole name, and its canonical form.
using NamePair = std::pair<std::string_view, std::string_view>;

// Strips the prefixes under which text models are published ("model.language_model.", "language_model.model.", "model.") and
// renames: "layers.N.<suffix>" by `layer_names` to "blk.N.<...>", everything else by `global_names`.
std::optional<std::string> RenameTensor(std::string_view hf_name, std::span<const NamePair> global_names,
                                        std::span<const NamePair> layer_names);

}  // namespace quern::models
