// Tensor names of Gemma 4: those of Hugging Face checkpoints and the canonical ones (GGUF's).
#pragma once

#include "models/hf_names.h"

namespace quern::models::gemma4 {

// "model.language_model.layers.3.self_attn.q_proj.weight" is "blk.3.attn_q.weight". Tensors that the text model does
// not use (towers, rotary buffers, clipping bounds) are not in the table.
NameTable Names();

}  // namespace quern::models::gemma4
