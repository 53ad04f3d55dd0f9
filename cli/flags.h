// Declaring flags on a CLI11 command with the rules of quern: a flag given twice takes the last value, list flags
// collect, numbers are finite and in range, and help shows default and range. The targets must outlive the parse.
//
// CLI11 costs seconds in every file that includes it; commands use these functions and leave it to flags.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quern::cli {

// Values that flags gave to settings of the configuration: key, text.
using SettingFlags = std::map<std::string, std::string>;

struct Choices {
  std::vector<std::string> values;
};

// names: "-p,--prompt". metavar: "TEXT". The help gets the range and the current value of the target as the default.
CLI::Option* AddText(CLI::App& app, const std::string& names, std::string* target, const std::string& help,
                     const std::string& metavar = "TEXT");
CLI::Option* AddList(CLI::App& app, const std::string& names, std::vector<std::string>* target, const std::string& help,
                     const std::string& metavar = "TEXT");
CLI::Option* AddInt(CLI::App& app, const std::string& names, int64_t* target, int64_t low, int64_t high,
                    const std::string& help);
CLI::Option* AddIntList(CLI::App& app, const std::string& names, std::vector<int64_t>* target, int64_t low,
                        int64_t high, const std::string& help);
CLI::Option* AddChoice(CLI::App& app, const std::string& names, std::string* target, const Choices& choices,
                       const std::string& help);
// names: "--flat,!--nested".
CLI::Option* AddSwitch(CLI::App& app, const std::string& names, bool* target, const std::string& help);
// A flag whose text a function judges; its error is the usage error of the flag.
CLI::Option* AddParsed(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                       std::function<Status(const std::string&)> parse);
// The same for a repeatable flag: parse sees every value, in order.
CLI::Option* AddParsedList(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                           std::function<Status(const std::string&)> parse);
// The flag of a setting, with its default, range and variable from the table.
CLI::Option* AddSetting(CLI::App& app, std::string_view key, SettingFlags* target);

// Positional arguments: one, or all that remain.
CLI::Option* AddArgument(CLI::App& app, const std::string& name, std::string* target, const std::string& help);
CLI::Option* AddArguments(CLI::App& app, const std::string& name, std::vector<std::string>* target,
                          const std::string& help);

// Properties of an option; all return it.
CLI::Option* Require(CLI::Option* option);
CLI::Option* Exclude(CLI::Option* option, CLI::Option* other);
CLI::Option* MakeValueOptional(CLI::Option* option);
CLI::Option* Group(CLI::Option* option, const std::string& title);
bool IsGiven(const CLI::Option* option);

// A command within a command; one of them must then be given.
CLI::App* AddSubcommand(CLI::App& app, const std::string& name, const std::string& summary);
bool WasChosen(const CLI::App* app);

// A flag of the full grammar that this build cannot serve. Hidden from help; using it is Unsupported with `why`.
// neutral: the value that asks for nothing and is accepted.
struct MissingFlag {
  std::string names;
  std::string neutral;
  std::string why;
  bool takes_value = true;
};
class MissingFlags {
 public:
  void Add(CLI::App& app, const MissingFlag& flag);
  Status Check() const { return status_; }

 private:
  Status status_;
};

}  // namespace quern::cli
