// The Gemma 4 text decoder as a step program: dense, with per-layer embeddings, shared K/V layers, and with experts.
//
// Source of the mathematics: transformers models/gemma4/modeling_gemma4.py and llama.cpp src/models/gemma4.cpp; the
// file docs/models/gemma4.md states every formula in our notation.
#pragma once

#include <memory>

#include "format/tensor_table.h"
#include "models/decoder.h"
#include "models/gemma4/config.h"

namespace quern::models::gemma4 {

// tensors: by canonical name; must outlive the decoder.
Result<std::unique_ptr<Decoder>> MakeGemma4(Gemma4Config config, const TensorTable& tensors);

}  // namespace quern::models::gemma4
