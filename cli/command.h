// A command of the program, and the registry of all of them. One file per command in cli/commands/.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/invocation.h"
#include "cli/status.h"

namespace quern::cli {

class Command {
 public:
  virtual ~Command() = default;
  // Declares arguments and flags. Called once; the object outlives the parse.
  virtual void Configure(CLI::App& app, SettingFlags& settings) = 0;
  virtual Result<ExitCode> Run(Invocation& in) = 0;
};

struct CommandEntry {
  std::string_view name, alias;  // alias may be empty
  std::string_view summary;
  std::string_view examples;  // two lines
  bool hidden = false;
  bool runs_without_config = false;  // works when the configuration is broken
  bool raw_arguments = false;        // takes words that look like flags
  std::unique_ptr<Command> (*make)() = nullptr;
};

// In the order of help.
std::span<const CommandEntry> Commands();
const CommandEntry* FindCommand(std::string_view name);

// A command of the full grammar that this build has not: Unsupported, not a misspelling.
struct MissingCommand {
  std::string_view name, what;
};
std::span<const MissingCommand> MissingCommands();

}  // namespace quern::cli
