// The one place of the command line that calls the JSON library, which throws; everything above gets a Result.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/status.h"

namespace quern::cli {

using Json = nlohmann::ordered_json;  // keys keep their order in output

// `what` names the text in messages: a path or "line 3 of prompts.jsonl". Damage is InvalidArgument: the files that the
// command line reads as JSON are written by its user.
Result<Json> ParseJson(std::string_view text, std::string_view what);

// One line; bytes that are not UTF-8 become U+FFFD.
std::string Dump(const Json& json);
// Indented, for documents.
std::string DumpPretty(const Json& json);

// {"error": {"code", "exit", "message", "hint", "details"}}
Json ErrorJson(const Error& error, ExitCode exit);

// Members with a type check; InvalidArgument names `what` and the key.
Result<std::string> GetString(const Json& object, std::string_view key, std::string_view what);

}  // namespace quern::cli
