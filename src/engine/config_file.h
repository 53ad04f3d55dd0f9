// The configuration file as a flat list: strict JSON of one object of sections, with the line of every key. The values
// are not judged here, only their JSON types; config.cc knows the settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace quern::engine {

struct ConfigEntry {
  enum class Type : uint8_t { kBool, kInteger, kNumber, kString, kOther };
  std::string key;  // "general.threads"; a key outside a section has no dot
  int line = 0;     // of the key, from 1
  Type type = Type::kOther;
  std::string text;  // the value as text; of kOther: what it is ("an object")
};

// `path` is for messages. Malformed JSON, a key that occurs twice and trailing data are InvalidArgument with path:line.
Result<std::vector<ConfigEntry>> ParseConfigFile(std::string_view text, std::string_view path);

}  // namespace quern::engine
