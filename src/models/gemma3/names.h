// Tensor names of Gemma 3: those of Hugging Face checkpoints to the canonical ones (GGUF's).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::models::gemma3 {

std::optional<std::string> CanonicalName(std::string_view hf_name);

}  // namespace quern::models::gemma3
