// Values of settings as text: one canonical form per type, checked against the type and the allowed range.
#pragma once

#include <string>
#include <string_view>

#include "quern/config.h"

#include "base/status.h"

namespace quern::engine {

// "yes" -> error, "1" or "true" -> "true", "max" of the context -> "-1", "8GiB" -> "8GiB" (sizes keep their spelling).
// InvalidArgument says what is allowed; the caller adds where the value came from.
Result<std::string> CanonicalValue(const Setting& setting, std::string_view text);

// "1..1024" -> low and high.
struct IntRange {
  int64_t low = INT64_MIN, high = INT64_MAX;
};
IntRange ParseRange(std::string_view allowed);

}  // namespace quern::engine
