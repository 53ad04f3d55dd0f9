#include "cli/chat/slash_commands.h"

#include <algorithm>
#include <vector>

#include "quern/suggest.h"

#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

Result<SlashResult> Help(ChatState& state, std::string_view arguments);

Result<SlashResult> Leave(ChatState&, std::string_view) { return SlashResult{.next = SlashResult::Next::kLeave}; }

constexpr SlashCommand kCommands[] = {
    {"/help", "/?", "[NAME]", "list the commands, or explain one", "", Help},
    {"/bye", "/exit /quit", "", "leave; so does Ctrl-D on an empty line", "", Leave},
    {"/clear", "", "", "forget the conversation", "Keeps the system message and the parameters; frees the cache.",
     slash::Clear},
    {"/system", "", "[TEXT|-]", "show, replace or remove (-) the system message",
     "Takes effect with the next message; the whole prompt is then evaluated again.", slash::System},
    {"/set", "", "[NAME VALUE]", "show or change parameters",
     "All sampling parameters, max-tokens, stop, ctx, think, show-thinking, stats, wrap, context-policy. A bad value "
     "changes "
     "nothing.",
     slash::Set},
    {"/show", "", "[model|params|template|memory|routes]", "information about the model", "", slash::Show},
    {"/context", "", "", "tokens used by the system message and each turn", "", slash::Context},
    {"/retry", "", "[SEED]", "drop the last answer and answer again", "", slash::Retry},
    {"/undo", "", "", "drop the last turn", "", slash::Undo},
    {"/drop", "", "N", "drop the N oldest turns from the prompt", "They stay in the session file, marked.",
     slash::Drop},
    {"/edit", "", "", "edit the last message in $VISUAL or $EDITOR and send it again", "", slash::Edit},
    {"/file", "", "PATH", "put a text file in front of the next message", "At most 1 MiB, UTF-8.", slash::File},
    {"/save", "", "[FILE]", "save the session", "Without FILE: the file of --session.", slash::Save},
    {"/load", "", "FILE", "load a session or an array of messages", "", slash::Load},
    {"/model", "", "REF", "switch the model, keep the conversation", "", slash::SwitchTo},
    {"/think", "", "[on|off|show|hide]", "thinking mode and its display", "", slash::Think},
    {"/copy", "", "", "copy the last answer to the clipboard of the terminal (OSC 52)", "", slash::Copy},
    {"/stats", "", "", "totals of this chat", "", slash::Stats},
};

bool HasName(const SlashCommand& command, std::string_view name) {
  if (command.name == name) return true;
  std::string_view rest = command.aliases;
  while (!rest.empty()) {
    const size_t space = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, space) == name) return true;
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return false;
}

const SlashCommand* Find(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kCommands), std::end(kCommands), [&](const auto& c) { return HasName(c, name); });
  return found == std::end(kCommands) ? nullptr : found;
}

tl::unexpected<Error> Unknown(std::string_view name) {
  std::vector<std::string> names;
  for (const SlashCommand& command : kCommands) names.emplace_back(command.name);
  const std::vector<std::string> nearest = NearestNames(name, names);
  return WithHint(Fail(Code::kInvalidArgument, "unknown command {} (begin with // to send a literal slash)", name),
                  nearest.empty() ? "/help lists the commands" : "did you mean " + nearest.front() + "?");
}

Result<SlashResult> Help(ChatState& state, std::string_view arguments) {
  std::string text;
  if (!arguments.empty()) {
    const std::string name = arguments.front() == '/' ? std::string(arguments) : "/" + std::string(arguments);
    const SlashCommand* command = Find(name);
    if (command == nullptr) return Unknown(name);
    text = fmt::format("{} {}\n  {}\n", command->name, command->arguments, command->summary);
    if (!command->detail.empty()) text += fmt::format("  {}\n", command->detail);
    if (!command->aliases.empty()) text += fmt::format("  also: {}\n", command->aliases);
    state.view.Info(text);
    return SlashResult();
  }
  constexpr int kColumns = 30;
  for (const SlashCommand& command : kCommands) {
    const std::string left = fmt::format("{} {}", command.name, command.arguments);
    const std::string gap =
        DisplayWidth(left) < kColumns ? FitColumns(left, kColumns) : left + "\n" + std::string(kColumns, ' ');
    text += fmt::format("{}{}\n", gap, command.summary);
  }
  text +=
      "\n\"\"\" begins and ends a message of several lines; \\ at the end of a line continues it.\n"
      "//text sends /text. Ctrl-C stops an answer.\n";
  state.view.Info(text);
  return SlashResult();
}

}  // namespace

std::span<const SlashCommand> SlashCommands() { return kCommands; }

Result<SlashResult> RunSlashCommand(ChatState& state, std::string_view line) {
  const size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view name = line.substr(0, end);
  std::string_view arguments = line.substr(end);
  arguments.remove_prefix(std::min(arguments.find_first_not_of(" \t"), arguments.size()));
  arguments = arguments.substr(0, arguments.find_last_not_of(" \t") + 1);
  const SlashCommand* command = Find(name);
  if (command == nullptr) return Unknown(name);
  if (command->arguments.empty() && !arguments.empty()) {
    return Fail(Code::kInvalidArgument, "{} takes no argument", command->name);
  }
  return command->run(state, arguments);
}

}  // namespace quern::cli
