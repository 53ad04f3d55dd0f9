// The config.json of a Gemma 3 text model, from its configuration: the inverse of Gemma3Config::FromJson.
#pragma once

#include "base/json.h"
#include "models/gemma3/config.h"

namespace quern::models::gemma3 {

OrderedJson ToHfConfig(const Gemma3Config& config, int64_t vocab_size);

}  // namespace quern::models::gemma3
