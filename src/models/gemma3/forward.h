// The Gemma 3 text decoder as a step program. Source: transformers models/gemma3/modeling_gemma3.py.
#pragma once

#include <memory>

#include "format/tensor_table.h"
#include "models/decoder.h"
#include "models/gemma3/config.h"

namespace quern::models::gemma3 {

// tensors: by canonical name; must outlive the decoder.
Result<std::unique_ptr<Decoder>> MakeGemma3(Gemma3Config config, const TensorTable& tensors);

}  // namespace quern::models::gemma3
