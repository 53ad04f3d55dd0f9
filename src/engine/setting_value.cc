#include "engine/setting_value.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace quern {
namespace {

// A whole decimal number, nothing behind it.
std::optional<double> WholeNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  double factor;
};

// Splits "8GiB" into number and unit and multiplies; the result must fit 63 bits.
template <size_t N>
std::optional<int64_t> Scale(std::string_view text, const Unit (&units)[N]) {
  const size_t split = text.find_first_not_of("0123456789.");
  const std::optional<double> number = WholeNumber(text.substr(0, split));
  if (!number) return std::nullopt;
  const std::string_view unit = split == std::string_view::npos ? "" : text.substr(split);
  for (const Unit& candidate : units) {
    if (unit != candidate.name) continue;
    const double value = *number * candidate.factor;
    if (value >= 9.2e18) return std::nullopt;
    return static_cast<int64_t>(std::llround(value));
  }
  return std::nullopt;
}

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;
constexpr Unit kSizeUnits[] = {{"", 1},     {"B", 1},     {"K", kKi},   {"KiB", kKi}, {"KB", 1e3},
                               {"M", kMi},  {"MiB", kMi}, {"MB", 1e6},  {"G", kGi},   {"GiB", kGi},
                               {"GB", 1e9}, {"T", kTi},   {"TiB", kTi}, {"TB", 1e12}};
constexpr Unit kTimeUnits[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};

}  // namespace

Result<int64_t> ParseSize(std::string_view text) {
  if (const auto value = Scale(text, kSizeUnits)) return *value;
  return Fail(Code::kInvalidArgument, "\"{}\" is not a size; write 512M, 8GiB (powers of two) or 8GB (powers of ten)",
              text);
}

Result<std::optional<int64_t>> ParseDurationMs(std::string_view text) {
  if (text == "-1") return std::optional<int64_t>();
  if (text == "0") return std::optional<int64_t>(0);
  if (const auto value = Scale(text, kTimeUnits)) return std::optional<int64_t>(*value);
  return Fail(Code::kInvalidArgument, "\"{}\" is not a duration; write 500ms, 30s, 5m, 1h, 0, or -1 for never", text);
}

namespace engine {
namespace {

Result<std::string> CanonicalInt(const Setting& setting, std::string_view text) {
  if (setting.key == "generation.context" && text == "max") return std::string("-1");
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!whole && error != std::errc::result_out_of_range) {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a whole number", text);
  }
  const IntRange range = ParseRange(setting.allowed);
  if (!whole || value < range.low || value > range.high) {
    return Fail(Code::kInvalidArgument, "{} is out of range; allowed is {}", text, setting.allowed);
  }
  return fmt::to_string(value);
}

Result<std::string> CanonicalBool(std::string_view text) {
  if (text == "true" || text == "1" || text == "on" || text == "yes") return std::string("true");
  if (text == "false" || text == "0" || text == "off" || text == "no") return std::string("false");
  return Fail(Code::kInvalidArgument, "\"{}\" is not a switch; write true or false", text);
}

Result<std::string> CanonicalChoice(const Setting& setting, std::string_view text) {
  std::string_view rest = setting.allowed;
  while (!rest.empty()) {
    const size_t bar = rest.find('|');
    if (rest.substr(0, bar) == text) return std::string(text);
    rest = bar == std::string_view::npos ? "" : rest.substr(bar + 1);
  }
  return Fail(Code::kInvalidArgument, "\"{}\" is not one of {}", text, setting.allowed);
}

}  // namespace

IntRange ParseRange(std::string_view allowed) {
  IntRange range;
  const size_t dots = allowed.find("..");
  if (dots == std::string_view::npos) return range;
  std::from_chars(allowed.data(), allowed.data() + dots, range.low);
  std::from_chars(allowed.data() + dots + 2, allowed.data() + allowed.size(), range.high);
  return range;
}

Result<std::string> CanonicalValue(const Setting& setting, std::string_view text) {
  switch (setting.type) {
    case SettingType::kBool:
      return CanonicalBool(text);
    case SettingType::kInt:
      return CanonicalInt(setting, text);
    case SettingType::kEnum:
      return CanonicalChoice(setting, text);
    case SettingType::kFloat:
      if (!WholeNumber(text)) return Fail(Code::kInvalidArgument, "\"{}\" is not a finite number", text);
      return std::string(text);
    case SettingType::kSize: {
      QUERN_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
      const IntRange range = ParseRange(setting.allowed);
      if (bytes < range.low || bytes > range.high) {
        return Fail(Code::kInvalidArgument, "{} is out of range; allowed is {} bytes", text, setting.allowed);
      }
      return std::string(text);
    }
    case SettingType::kDuration:
      QUERN_TRY(ParseDurationMs(text));
      return std::string(text);
    case SettingType::kString:
      return std::string(text);
  }
  return std::string(text);
}

}  // namespace engine
}  // namespace quern
