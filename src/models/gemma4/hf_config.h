// The config.json of a Gemma 4 text model, from its configuration: the inverse of Gemma4Config::FromJson.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "models/gemma4/config.h"

namespace quern::models::gemma4 {

// In the spelling of the published files (global_head_dim, num_global_key_value_heads). Unsupported for a configuration
// that these fields cannot express.
Result<OrderedJson> ToHfConfig(const Gemma4Config& config, int64_t vocab_size);

}  // namespace quern::models::gemma4
