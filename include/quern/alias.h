// Model aliases: short names for references. Built-in ones come with quern; a user's own live in one file and win over
// them. Values and files; any thread. Two processes that write at once: the later one wins, the file is always whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern {

struct Alias {
  std::string name;
  std::string reference;  // "google/gemma-4-E2B-it-qat-q4_0-gguf", a path
  bool built_in = false;
};

// $QUERN_HOME/aliases.json, else $XDG_DATA_HOME/quern/aliases.json, else ~/.local/share/quern/aliases.json.
std::string DefaultAliasPath();

// Built-in aliases in name order.
const std::vector<Alias>& BuiltInAliases();

// All aliases in name order; a user alias hides the built-in one of the same name. A missing file is an empty list.
Result<std::vector<Alias>> ListAliases(const std::string& path);

// User aliases by exact name, then built-in ones without regard to case.
Result<std::optional<Alias>> FindAlias(const std::string& path, std::string_view name);

enum class OverBuiltIn : uint8_t { kRefuse, kAllow };
// Adds or replaces a user alias. InvalidArgument for a name that the model argument could not reach (empty, with '/',
// '@' or white space, a file ending) and, with kRefuse, for the name of a built-in alias.
Status SetAlias(const std::string& path, std::string_view name, std::string_view reference, OverBuiltIn over_built_in);

// NotFound when there is no such user alias.
Status RemoveAlias(const std::string& path, std::string_view name);

}  // namespace quern
