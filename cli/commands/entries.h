// The entry of every command; cli/commands/registry.cc lists them.
#pragma once

#include "cli/command.h"

namespace quern::cli {

CommandEntry ChatCommand();
CommandEntry GenerateCommand();
CommandEntry TokenizeCommand();
CommandEntry DetokenizeCommand();
CommandEntry ShowCommand();
CommandEntry ListCommand();
CommandEntry AliasCommand();
CommandEntry ConvertCommand();
CommandEntry QuantizeCommand();
CommandEntry PerplexityCommand();
CommandEntry BenchCommand();
CommandEntry DoctorCommand();
CommandEntry ConfigCommand();
CommandEntry CompletionCommand();
CommandEntry CompleteCommand();
CommandEntry HelpCommand();

}  // namespace quern::cli
