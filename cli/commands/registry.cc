#include <algorithm>
#include <array>

#include "cli/commands/entries.h"

namespace quern::cli {

std::span<const CommandEntry> Commands() {
  static const std::array entries = {ChatCommand(),     GenerateCommand(), TokenizeCommand(),   DetokenizeCommand(),
                                     ShowCommand(),     ListCommand(),     AliasCommand(),      ConvertCommand(),
                                     QuantizeCommand(), BenchCommand(),    PerplexityCommand(), DoctorCommand(),
                                     ConfigCommand(),   HelpCommand(),     CompletionCommand(), CompleteCommand()};
  return entries;
}

const CommandEntry* FindCommand(std::string_view name) {
  const auto commands = Commands();
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CommandEntry& entry) {
    return entry.name == name || (!entry.alias.empty() && entry.alias == name);
  });
  return found == commands.end() ? nullptr : &*found;
}

std::span<const MissingCommand> MissingCommands() {
  static constexpr MissingCommand kMissing[] = {{"pull", "downloading models"},
                                                {"rm", "deleting models from the cache"},
                                                {"serve", "the HTTP server"},
                                                {"embed", "embeddings"},
                                                {"extract", "entity extraction"},
                                                {"rerank", "reranking"},
                                                {"adapter", "LoRA adapters"},
                                                {"tune", "training"},
                                                {"qualify", "qualification runs"},
                                                {"kernels", "kernel tools"},
                                                {"cache", "caches of kernels and packed weights"}};
  return kMissing;
}

}  // namespace quern::cli
