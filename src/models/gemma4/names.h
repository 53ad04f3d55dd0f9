// Tensor names of Gemma 4: those of Hugging Face checkpoints to the canonical ones (GGUF's).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::models::gemma4 {

// "model.language_model.layers.3.self_attn.q_proj.weight" -> "blk.3.attn_q.weight". nullopt for tensors that the text model
// does not use: towers, rotary buffers, clipping bounds.
std::optional<std::string> CanonicalName(std::string_view hf_name);

}  // namespace quern::models::gemma4
