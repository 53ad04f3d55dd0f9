// The metadata of a Gemma 3 GGUF file, from its configuration: the inverse of Gemma3Config::FromGguf.
// Keys and types are those of llama.cpp's converter (conversion/gemma.py, class Gemma3Model).
#pragma once

#include "base/status.h"
#include "format/gguf_writer.h"
#include "models/gemma3/config.h"

namespace quern::models::gemma3 {

// The "gemma3.*" keys. Unsupported for a configuration that readers of the file would not understand: another period of
// full layers than 6, or an attention scale that is not that of the known sizes.
Status WriteGgufMetadata(const Gemma3Config& config, format::GgufWriter* writer);

}  // namespace quern::models::gemma3
