// The metadata of a Gemma 4 GGUF file, from its configuration: the inverse of Gemma4Config::FromGguf.
//
// Keys, types and the choice between scalar and per-layer array are those of llama.cpp's converter
// (conversion/gemma.py, class Gemma4Model), so that other programs load the file: head_count_kv and feed_forward_length
// are arrays only when layers differ, key_length and rope.dimension_count are those of the full layers.
#pragma once

#include <vector>

#include "base/status.h"
#include "format/gguf_writer.h"
#include "models/gemma4/config.h"

namespace quern::models::gemma4 {

// The "gemma4.*" keys. Unsupported for a configuration that the keys cannot express: layers of one type with different
// head widths, or a rope factor.
Status WriteGgufMetadata(const Gemma4Config& config, format::GgufWriter* writer);

// rope_freqs.weight, F32 [Dh / 2] of the full layers: 1 for a rotated pair, 1e30 for one that passes through. Empty
// when no layer is full.
std::vector<float> RopeFreqs(const Gemma4Config& config);

// The way back: sets rope_full.partial_rotary_factor from the tensor. Unsupported for factors other than those two.
Status TakeRotatedSpan(const TensorView& rope_freqs, Gemma4Config* config);

}  // namespace quern::models::gemma4
