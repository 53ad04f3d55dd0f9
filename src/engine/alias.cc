#include "quern/alias.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/json.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

std::string Lowered(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lowered;
}

Result<std::vector<Alias>> ReadUserAliases(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::vector<Alias>();
  QUERN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{1} << 20));
  QUERN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  if (!json.is_object()) return Fail(Code::kCorrupt, "{}: not an object of names", path);
  std::vector<Alias> aliases;
  for (const auto& [name, reference] : json.items()) {
    if (!reference.is_string()) return Fail(Code::kCorrupt, "{}: alias \"{}\" is not a string", path, name);
    aliases.push_back({name, reference.get<std::string>(), false});
  }
  return aliases;
}

Status WriteUserAliases(const std::string& path, const std::vector<Alias>& aliases) {
  OrderedJson json = OrderedJson::object();
  for (const Alias& alias : aliases) json[alias.name] = alias.reference;
  std::string text;
  try {
    text = json.dump(2) + "\n";
  } catch (const Json::exception&) {  // thrown for a string that is not UTF-8, and for nothing else
    return WithHint(Fail(Code::kInvalidArgument, "the alias or what it stands for is not UTF-8"),
                    "convert it, for example with iconv -t UTF-8");
  }
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return Fail(Code::kResourceExhausted, "cannot create the folder of {}: {}", path, error.message());
  return WriteFileAtomically(path, text);
}

const Alias* FindBuiltIn(std::string_view name) {
  const std::string lowered = Lowered(name);
  for (const Alias& alias : BuiltInAliases()) {
    if (alias.name == lowered) return &alias;
  }
  return nullptr;
}

bool Reachable(std::string_view name) {
  if (name.empty() || name.size() > 100 || name.front() == '-' || name.front() == '.' || name.front() == '~')
    return false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f || c == '/' || c == '@') return false;
  }
  return !name.ends_with(".gguf") && !name.ends_with(".safetensors");
}

}  // namespace

std::string DefaultAliasPath() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string home = variable("QUERN_HOME"); !home.empty()) return home + "/aliases.json";
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/quern/aliases.json";
  return variable("HOME") + "/.local/share/quern/aliases.json";
}

const std::vector<Alias>& BuiltInAliases() {
  static const std::vector<Alias>& aliases = *new std::vector<Alias>{
      {"gemma4", "google/gemma-4-E2B-it-qat-q4_0-gguf", true},
      {"gemma4:26b-a4b", "google/gemma-4-26B-A4B-it-qat-q4_0-gguf", true},
      {"gemma4:31b", "google/gemma-4-31B-it-qat-q4_0-gguf", true},
      {"gemma4:e2b", "google/gemma-4-E2B-it-qat-q4_0-gguf", true},
      {"gemma4:e4b", "google/gemma-4-E4B-it-qat-q4_0-gguf", true},
  };
  return aliases;
}

Result<std::vector<Alias>> ListAliases(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(std::vector<Alias> aliases, ReadUserAliases(path));
  const size_t num_user = aliases.size();
  for (const Alias& built_in : BuiltInAliases()) {
    const auto end = aliases.begin() + static_cast<std::ptrdiff_t>(num_user);
    if (std::none_of(aliases.begin(), end, [&](const Alias& a) { return a.name == built_in.name; })) {
      aliases.push_back(built_in);
    }
  }
  std::sort(aliases.begin(), aliases.end(), [](const Alias& a, const Alias& b) { return a.name < b.name; });
  return aliases;
}

Result<std::optional<Alias>> FindAlias(const std::string& path, std::string_view name) {
  QUERN_ASSIGN_OR_RETURN(const std::vector<Alias> user, ReadUserAliases(path));
  for (const Alias& alias : user) {
    if (alias.name == name) return std::optional<Alias>(alias);
  }
  const Alias* built_in = FindBuiltIn(name);
  return built_in == nullptr ? std::optional<Alias>() : std::optional<Alias>(*built_in);
}

Status SetAlias(const std::string& path, std::string_view name, std::string_view reference, OverBuiltIn over_built_in) {
  if (!Reachable(name)) {
    return WithHint(Fail(Code::kInvalidArgument, "\"{}\" cannot be an alias", name),
                    "use up to 100 characters without white space, '/' or '@', and no file ending");
  }
  if (reference.empty()) return Fail(Code::kInvalidArgument, "alias \"{}\": the reference is empty", name);
  if (over_built_in == OverBuiltIn::kRefuse && FindBuiltIn(name) != nullptr) {
    return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is a built-in alias", name), "repeat with --force to hide it");
  }
  QUERN_ASSIGN_OR_RETURN(std::vector<Alias> aliases, ReadUserAliases(path));
  std::erase_if(aliases, [&](const Alias& alias) { return alias.name == name; });
  aliases.push_back({std::string(name), std::string(reference), false});
  return WriteUserAliases(path, aliases);
}

Status RemoveAlias(const std::string& path, std::string_view name) {
  QUERN_ASSIGN_OR_RETURN(std::vector<Alias> aliases, ReadUserAliases(path));
  if (std::erase_if(aliases, [&](const Alias& alias) { return alias.name == name; }) == 0) {
    return Fail(Code::kNotFound, "no user alias \"{}\" in {}", name, path);
  }
  return WriteUserAliases(path, aliases);
}

}  // namespace quern
