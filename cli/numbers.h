// Numbers as the user types them: whole, finite, nothing behind them. InvalidArgument otherwise.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/status.h"

namespace quern::cli {

Result<int64_t> ParseInt(std::string_view text);
Result<double> ParseFloat(std::string_view text);

}  // namespace quern::cli
