// Tensor names of Gemma 3: those of Hugging Face checkpoints and the canonical ones (GGUF's).
#pragma once

#include "models/hf_names.h"

namespace quern::models::gemma3 {

NameTable Names();

}  // namespace quern::models::gemma3
