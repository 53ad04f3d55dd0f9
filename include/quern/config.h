// Configuration: flag > environment QUERN_* > file > built-in default. Strict: an unknown key, a wrong type or a value
// out of range is InvalidArgument with file, line, key and the nearest known key.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern {

enum class SettingType : uint8_t { kBool, kInt, kFloat, kString, kSize, kDuration, kEnum };

// One setting, as the schema, the parser, the documentation and `config show` know it.
struct Setting {
  std::string_view key;  // "general.threads"
  SettingType type = SettingType::kString;
  std::string_view flag;         // "--threads"; empty when there is none
  std::string_view environment;  // "QUERN_THREADS"
  std::string_view default_value;
  std::string_view allowed;  // "1..1024", "text|json"; empty: any
  std::string_view meaning;  // one line
};
std::vector<Setting> Settings();

enum class Origin : uint8_t { kDefault, kFile, kEnvironment, kFlag };
std::string_view NameOf(Origin origin);

struct EffectiveSetting {
  Setting setting;
  std::string value;
  Origin origin = Origin::kDefault;
  std::string where;  // "/home/u/.config/quern/config.json:4" or the variable's name
};

class Config {
 public:
  // path empty: QUERN_CONFIG, then $XDG_CONFIG_HOME/quern/config.json when it exists. A named file that is missing is
  // NotFound. `environment` looks a variable up (empty value = unset); the default reads the process environment.
  using Environment = std::function<std::optional<std::string>(std::string_view name)>;
  static Result<Config> Load(const std::string& path, const Environment& environment = {});

  // Built-in defaults alone: for the commands that must run when the configuration is broken.
  static Config Defaults();

  // Empty when no file was read.
  const std::string& path() const { return path_; }
  // QUERN_* variables that no setting knows.
  const std::vector<std::string>& unknown_variables() const { return unknown_variables_; }
  const std::vector<EffectiveSetting>& settings() const { return settings_; }

  std::string_view Get(std::string_view key) const;  // the effective text; the key must exist
  bool GetBool(std::string_view key) const;
  int64_t GetInt(std::string_view key) const;
  double GetFloat(std::string_view key) const;
  int64_t GetSizeBytes(std::string_view key) const;
  // A flag given on the command line. InvalidArgument as for the file.
  Status SetFromFlag(std::string_view key, std::string_view value);

 private:
  std::string path_;
  std::vector<std::string> unknown_variables_;
  std::vector<EffectiveSetting> settings_;
};

// The JSON schema of the file.
std::string ConfigSchema();
// Where the file is looked for.
std::string DefaultConfigPath();

// "512M", "4G", "8GiB" (powers of two), "500MB", "2GB" (powers of ten).
Result<int64_t> ParseSize(std::string_view text);
// "500ms", "30s", "5m", "1h", "0"; "-1" is never (nullopt). Milliseconds.
Result<std::optional<int64_t>> ParseDurationMs(std::string_view text);

}  // namespace quern
