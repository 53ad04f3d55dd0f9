#include "quern/config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "quern/suggest.h"

#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/config_file.h"
#include "engine/setting_value.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// Variables with our prefix that are not settings: where things lie.
constexpr std::string_view kOtherVariables[] = {"QUERN_CONFIG", "QUERN_HOME"};

std::optional<std::string> ProcessVariable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> AllKeys() {
  std::vector<std::string> keys;
  for (const Setting& setting : Settings()) keys.emplace_back(setting.key);
  return keys;
}

tl::unexpected<Error> UnknownKey(std::string_view where, const std::string& key) {
  auto failure = Fail(Code::kInvalidArgument, "{}: unknown key \"{}\"", where, key);
  const std::vector<std::string> nearest = NearestNames(key, AllKeys());
  if (nearest.empty()) return WithHint(std::move(failure), "`quern config show` lists the known keys");
  return WithHint(std::move(failure), fmt::format("did you mean \"{}\"?", nearest.front()));
}

// The JSON types that a setting accepts; numbers with a unit are strings.
bool TypeFits(const Setting& setting, engine::ConfigEntry::Type type) {
  using Type = engine::ConfigEntry::Type;
  switch (setting.type) {
    case SettingType::kBool:
      return type == Type::kBool;
    case SettingType::kInt:
      return type == Type::kInteger || (type == Type::kString && setting.key == "generation.context");
    case SettingType::kFloat:
      return type == Type::kInteger || type == Type::kNumber;
    case SettingType::kSize:
      return type == Type::kInteger || type == Type::kString;
    case SettingType::kDuration:
      return type == Type::kInteger || type == Type::kString;
    case SettingType::kString:
    case SettingType::kEnum:
      return type == Type::kString;
  }
  return false;
}

std::string_view JsonTypeOf(const Setting& setting) {
  switch (setting.type) {
    case SettingType::kBool:
      return "true or false";
    case SettingType::kInt:
      return "a whole number";
    case SettingType::kFloat:
      return "a number";
    case SettingType::kSize:
      return "a size such as \"8GiB\"";
    case SettingType::kDuration:
      return "a duration such as \"30s\"";
    case SettingType::kString:
    case SettingType::kEnum:
      return "a string";
  }
  return "a string";
}

EffectiveSetting* Find(std::vector<EffectiveSetting>& settings, std::string_view key) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& s) { return s.setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
}

Status Apply(EffectiveSetting& setting, std::string_view value, Origin origin, std::string where) {
  Result<std::string> canonical = engine::CanonicalValue(setting.setting, value);
  if (!canonical) {
    return Fail(Code::kInvalidArgument, "{}: {}: {}", where, setting.setting.key, canonical.error().message);
  }
  setting.value = std::move(*canonical);
  setting.origin = origin;
  setting.where = std::move(where);
  return {};
}

// Relative paths in a file are relative to that file.
std::string RelativeToFile(const std::string& value, const std::string& file) {
  if (value.empty() || value.front() == '/' || value.front() == '~') return value;
  return (fs::path(file).parent_path() / value).lexically_normal().string();
}

Status ApplyFile(std::vector<EffectiveSetting>& settings, const std::string& path) {
  Result<std::string> text = ReadFile(path, size_t{1} << 20);
  if (!text) return WithFrame(std::move(text).error(), "reading the configuration");
  QUERN_ASSIGN_OR_RETURN(const std::vector<engine::ConfigEntry> entries, engine::ParseConfigFile(*text, path));
  for (const engine::ConfigEntry& entry : entries) {
    const std::string where = fmt::format("{}:{}", path, entry.line);
    EffectiveSetting* setting = Find(settings, entry.key);
    if (setting == nullptr) return UnknownKey(where, entry.key);
    if (!TypeFits(setting->setting, entry.type)) {
      return Fail(Code::kInvalidArgument, "{}: {} must be {}, not {}", where, entry.key, JsonTypeOf(setting->setting),
                  entry.type == engine::ConfigEntry::Type::kString ? '"' + entry.text + '"' : entry.text);
    }
    const bool is_path = setting->setting.key == "store.models_dir";
    QUERN_TRY(Apply(*setting, is_path ? RelativeToFile(entry.text, path) : entry.text, Origin::kFile, where));
  }
  return {};
}

Status ApplyEnvironment(std::vector<EffectiveSetting>& settings, const Config::Environment& environment) {
  for (EffectiveSetting& setting : settings) {
    const std::string name(setting.setting.environment);
    const std::optional<std::string> value = name.empty() ? std::nullopt : environment(name);
    if (value && !value->empty()) QUERN_TRY(Apply(setting, *value, Origin::kEnvironment, name));
  }
  // The hub's own switch counts too, unless ours is set.
  EffectiveSetting& offline = *Find(settings, "general.offline");
  const std::optional<std::string> hub = environment("HF_HUB_OFFLINE");
  if (hub && !hub->empty() && offline.origin != Origin::kEnvironment) {
    QUERN_TRY(Apply(offline, *hub, Origin::kEnvironment, "HF_HUB_OFFLINE"));
  }
  return {};
}

std::vector<std::string> UnknownVariables() {
  std::vector<std::string> unknown;
  const std::vector<Setting> settings = Settings();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("QUERN_")) continue;
    const bool known =
        std::any_of(settings.begin(), settings.end(), [&](const auto& s) { return s.environment == name; }) ||
        std::find(std::begin(kOtherVariables), std::end(kOtherVariables), name) != std::end(kOtherVariables);
    if (!known) unknown.emplace_back(name);
  }
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

OrderedJson SchemaOf(const Setting& setting) {
  OrderedJson schema;
  switch (setting.type) {
    case SettingType::kBool:
      schema["type"] = "boolean";
      break;
    case SettingType::kInt:
      schema["type"] = "integer";
      break;
    case SettingType::kFloat:
      schema["type"] = "number";
      break;
    case SettingType::kSize:
    case SettingType::kDuration:
      schema["type"] = OrderedJson::array({"integer", "string"});
      break;
    case SettingType::kString:
    case SettingType::kEnum:
      schema["type"] = "string";
      break;
  }
  if (setting.key == "generation.context") schema["type"] = OrderedJson::array({"integer", "string"});
  schema["description"] = setting.meaning;
  if (setting.type == SettingType::kInt) {
    const engine::IntRange range = engine::ParseRange(setting.allowed);
    schema["minimum"] = range.low;
    schema["maximum"] = range.high;
    schema["default"] = std::stoll(std::string(setting.default_value));
  } else if (setting.type == SettingType::kBool) {
    schema["default"] = setting.default_value == "true";
  } else {
    schema["default"] = setting.default_value;
  }
  if (setting.type == SettingType::kEnum) {
    schema["enum"] = OrderedJson::array();
    std::string_view rest = setting.allowed;
    for (size_t bar = 0; bar != std::string_view::npos;
         rest = rest.substr(bar == std::string_view::npos ? 0 : bar + 1)) {
      bar = rest.find('|');
      schema["enum"].push_back(rest.substr(0, bar));
    }
  }
  return schema;
}

}  // namespace

std::string_view NameOf(Origin origin) {
  switch (origin) {
    case Origin::kDefault:
      return "default";
    case Origin::kFile:
      return "file";
    case Origin::kEnvironment:
      return "environment";
    case Origin::kFlag:
      return "flag";
  }
  return "default";
}

Config Config::Defaults() {
  Config config;
  for (const Setting& setting : Settings()) {
    config.settings_.push_back({setting, std::string(setting.default_value), Origin::kDefault, ""});
  }
  return config;
}

Result<Config> Config::Load(const std::string& path, const Environment& environment) {
  const Environment lookup = environment ? environment : Environment(ProcessVariable);
  Config config = Defaults();
  std::string file = path;
  if (file.empty()) file = lookup("QUERN_CONFIG").value_or("");
  const bool named = !file.empty();
  if (!named) file = DefaultConfigPath();
  std::error_code ignored;
  if (named || (!file.empty() && fs::exists(file, ignored))) {
    QUERN_TRY(ApplyFile(config.settings_, file));
    config.path_ = file;
  }
  QUERN_TRY(ApplyEnvironment(config.settings_, lookup));
  if (!environment) config.unknown_variables_ = UnknownVariables();
  if (config.GetBool("general.strict_env") && !config.unknown_variables_.empty()) {
    std::vector<std::string> known;
    for (const Setting& setting : Settings()) known.emplace_back(setting.environment);
    const std::vector<std::string> nearest = NearestNames(config.unknown_variables_.front(), known);
    auto failure = Fail(Code::kInvalidArgument, "unknown environment variable {}", config.unknown_variables_.front());
    return nearest.empty() ? failure : WithHint(std::move(failure), fmt::format("did you mean {}?", nearest.front()));
  }
  return config;
}

std::string_view Config::Get(std::string_view key) const {
  const auto found =
      std::find_if(settings_.begin(), settings_.end(), [&](const auto& s) { return s.setting.key == key; });
  QUERN_CHECK(found != settings_.end());
  return found->value;
}

bool Config::GetBool(std::string_view key) const { return Get(key) == "true"; }
int64_t Config::GetInt(std::string_view key) const { return std::strtoll(std::string(Get(key)).c_str(), nullptr, 10); }
double Config::GetFloat(std::string_view key) const { return std::strtod(std::string(Get(key)).c_str(), nullptr); }
int64_t Config::GetSizeBytes(std::string_view key) const { return ParseSize(Get(key)).value_or(0); }

Status Config::SetFromFlag(std::string_view key, std::string_view value) {
  EffectiveSetting* setting = Find(settings_, key);
  if (setting == nullptr) return UnknownKey("command line", std::string(key));
  return Apply(*setting, value, Origin::kFlag, std::string(setting->setting.flag));
}

std::string DefaultConfigPath() {
  if (const auto base = ProcessVariable("XDG_CONFIG_HOME")) return *base + "/quern/config.json";
  if (const auto home = ProcessVariable("HOME")) return *home + "/.config/quern/config.json";
  return "";
}

std::string ConfigSchema() {
  OrderedJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                        {"title", "Configuration of quern"},
                        {"type", "object"},
                        {"additionalProperties", false},
                        {"properties", OrderedJson::object()}};
  for (const Setting& setting : Settings()) {
    const size_t dot = setting.key.find('.');
    OrderedJson& section = schema["properties"][std::string(setting.key.substr(0, dot))];
    if (section.is_null())
      section = {{"type", "object"}, {"additionalProperties", false}, {"properties", OrderedJson::object()}};
    section["properties"][std::string(setting.key.substr(dot + 1))] = SchemaOf(setting);
  }
  return schema.dump(2);
}

}  // namespace quern
