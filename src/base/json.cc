#include "base/json.h"

#include <new>
#include <string>
#include <unordered_set>
#include <vector>

namespace quern {
namespace {

// Messages end up in JSON responses and on terminals, and the parser quotes the text that it stumbled over: whatever is
// not printable ASCII becomes '?', and the length is bounded.
std::string Printable(std::string_view text) {
  constexpr size_t kMaxQuoted = 160;
  std::string printable;
  for (const char c : text.substr(0, kMaxQuoted)) printable += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kMaxQuoted) printable += "...";
  return printable;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what, JsonLimits limits) {
  // The callback sees every event before the value is stored, so depth and duplicate keys stop the parse early.
  // It reports them by throwing, since that is the only way to leave the parser; the throw ends four lines below.
  struct Refusal {
    std::string message;
  };
  // The parser takes a zero byte for the end of the text and would ignore everything behind it.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return Fail(Code::kCorrupt, "{}: not valid JSON at byte {}: a zero byte", what, zero + 1);
  }
  std::vector<std::unordered_set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    // `depth` counts the containers around this one.
    if (opens && depth >= limits.max_depth)
      throw Refusal{fmt::format("nested deeper than {} levels", limits.max_depth)};
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw Refusal{
          fmt::format("key \"{}\" occurs twice in one object", Printable(parsed.get_ref<const std::string&>()))};
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Refusal& refusal) {
    return Fail(Code::kCorrupt, "{}: {}", what, refusal.message);
  } catch (const Json::parse_error& error) {
    return Fail(Code::kCorrupt, "{}: not valid JSON at byte {}: {}", what, error.byte, Printable(error.what()));
  } catch (const std::bad_alloc&) {
    return Fail(Code::kResourceExhausted, "{}: {} bytes of JSON do not fit in memory", what, text.size());
  } catch (const std::exception& error) {
    return Fail(Code::kCorrupt, "{}: not valid JSON: {}", what, Printable(error.what()));
  }
}

}  // namespace quern
