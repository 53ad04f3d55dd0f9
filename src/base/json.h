// The one place that calls the JSON parser, which throws; everything above gets a Result.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace quern {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // where the order of keys must be stable in output

struct JsonLimits {
  int max_depth = 64;  // nlohmann recurses when a value is destroyed; hostile nesting must not reach that
};

// Strict: UTF-8, no trailing data, no duplicate keys in one object. Syntax errors give the byte offset, counted
// from 1; a repeated key is named. Messages are printable ASCII whatever the text holds.
// `what` names the text in messages: a path or "the request body".
Result<Json> ParseJson(std::string_view text, std::string_view what, JsonLimits limits = {});

}  // namespace quern
