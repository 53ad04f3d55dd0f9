// Which family a checkpoint belongs to.
#pragma once

#include <memory>

#include "models/checkpoint.h"
#include "models/decoder.h"

namespace quern::models {

// The decoder of a checkpoint. Its configuration is read and validated here; tensors are checked by BuildProgram.
Result<std::unique_ptr<Decoder>> MakeDecoder(const Checkpoint& checkpoint);

// Canonical name of a Hugging Face tensor, or nullopt when the text model does not use it.
std::optional<std::string> CanonicalTensorName(std::string_view architecture, std::string_view hf_name);
// The way back: "blk.3.attn_q.weight" to "model.layers.3.self_attn.q_proj.weight".
std::optional<std::string> HfTensorName(std::string_view architecture, std::string_view canonical_name);

}  // namespace quern::models
