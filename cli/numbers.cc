#include "cli/numbers.h"

#include <charconv>
#include <cmath>

namespace quern::cli {

Result<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return Fail(Code::kInvalidArgument, "{} is out of range", text);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a whole number", text);
  }
  return value;
}

Result<double> ParseFloat(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a finite number", text);
  }
  return value;
}

}  // namespace quern::cli
