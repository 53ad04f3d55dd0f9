#include "cli/json_text.h"

namespace quern::cli {
namespace {
constexpr int kDeepest = 64;  // the library recurses when a value is destroyed; hostile nesting must not reach that
constexpr auto kReplace = Json::error_handler_t::replace;
}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what) {
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kDeepest;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, watch);
    if (too_deep) return Fail(Code::kInvalidArgument, "{}: nested deeper than {} levels", what, kDeepest);
    return json;
  } catch (const std::exception& error) {
    const std::string_view reason = error.what();
    const size_t colon = reason.find("] ");
    return Fail(Code::kInvalidArgument, "{}: not valid JSON: {}", what,
                colon == std::string_view::npos ? reason : reason.substr(colon + 2));
  }
}

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, kReplace); }
std::string DumpPretty(const Json& json) { return json.dump(2, ' ', false, kReplace); }

Json ErrorJson(const Error& error, ExitCode exit) {
  Error without_hint = error;
  without_hint.hint.clear();
  return {{"error",
           {{"code", NameOf(exit)},
            {"exit", static_cast<int>(exit)},
            {"message", without_hint.ToString()},
            {"hint", error.hint},
            {"details", {{"kind", CodeName(error.code)}}}}}};
}

Result<std::string> GetString(const Json& object, std::string_view key, std::string_view what) {
  const auto found = object.find(std::string(key));
  if (found == object.end() || !found->is_string()) {
    return Fail(Code::kInvalidArgument, "{}: \"{}\" must be a string", what, key);
  }
  return found->get<std::string>();
}

}  // namespace quern::cli
