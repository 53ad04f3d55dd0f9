// The grammar of the whole program as one CLI11 application, and its parse with the error messages of quern.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace quern::cli {

class CommandLine {
 public:
  CommandLine();

  struct Parsed {
    std::optional<std::string> help;  // text to print; nothing else to do
    bool version = false;
    const CommandEntry* entry = nullptr;
    Command* command = nullptr;
  };
  // words: the arguments without the program's name. InvalidArgument for anything the grammar does not know, with the
  // nearest name as the hint.
  Result<Parsed> Parse(std::span<const std::string> words);

  const CLI::App& app() const { return app_; }
  const SettingFlags& settings() const { return settings_; }
  const std::string& config_path() const { return config_path_; }
  bool json() const { return json_; }
  Verbosity verbosity() const;

  // Whether --json stands in flag position: known even when the parse fails.
  static bool AsksForJson(std::span<const std::string> words);

 private:
  void AddGlobalFlags();
  Status CheckCommandName(std::span<const std::string> words) const;
  Error ExplainFailure(const std::exception& failure) const;

  CLI::App app_;
  SettingFlags settings_;
  std::string config_path_;
  bool json_ = false, quiet_ = false, version_ = false;
  int verbose_ = 0;
  std::map<std::string_view, std::unique_ptr<Command>> commands_;  // by entry name
};

// Names of the flags of an app, with dashes.
std::vector<std::string> FlagNames(const CLI::App& app);

}  // namespace quern::cli
