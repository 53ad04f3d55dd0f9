#include "base/json.h"

#include <string>
#include <unordered_set>
#include <vector>

namespace quern {

Result<Json> ParseJson(std::string_view text, std::string_view what, JsonLimits limits) {
  // The callback sees every event before the value is stored, so depth and duplicate keys stop the parse early.
  // It reports them by throwing, since that is the only way to leave the parser; the throw ends four lines below.
  struct Refusal {
    std::string message;
  };
  std::vector<std::unordered_set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > limits.max_depth) throw Refusal{fmt::format("nested deeper than {} levels", limits.max_depth)};
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw Refusal{fmt::format("key \"{}\" occurs twice in one object", parsed.get_ref<const std::string&>())};
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Refusal& refusal) {
    return Fail(Code::kCorrupt, "{}: {}", what, refusal.message);
  } catch (const std::exception& error) {
    return Fail(Code::kCorrupt, "{}: not valid JSON: {}", what, error.what());
  }
}

}  // namespace quern
