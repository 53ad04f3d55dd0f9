// The commands of a chat: one table of names, arguments, help and handlers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/chat/chat_state.h"

namespace quern::cli {

// What the loop does after a command.
struct SlashResult {
  enum class Next : uint8_t { kContinue, kLeave, kSend, kAnswerAgain } next = Next::kContinue;
  std::string message;           // kSend
  std::optional<uint64_t> seed;  // kAnswerAgain
};

struct SlashCommand {
  std::string_view name;       // "/set"
  std::string_view aliases;    // "/exit /quit"; may be empty
  std::string_view arguments;  // "[NAME VALUE]"
  std::string_view summary, detail;
  Result<SlashResult> (*run)(ChatState& state, std::string_view arguments);
};
std::span<const SlashCommand> SlashCommands();

// line: with the slash. InvalidArgument for a command that does not exist.
Result<SlashResult> RunSlashCommand(ChatState& state, std::string_view line);

// The handlers, by file.
namespace slash {
// slash_conversation.cc
Result<SlashResult> Clear(ChatState& state, std::string_view arguments);
Result<SlashResult> System(ChatState& state, std::string_view arguments);
Result<SlashResult> Context(ChatState& state, std::string_view arguments);
Result<SlashResult> Retry(ChatState& state, std::string_view arguments);
Result<SlashResult> Undo(ChatState& state, std::string_view arguments);
Result<SlashResult> Drop(ChatState& state, std::string_view arguments);
// slash_editing.cc
Result<SlashResult> Edit(ChatState& state, std::string_view arguments);
Result<SlashResult> File(ChatState& state, std::string_view arguments);
Result<SlashResult> Copy(ChatState& state, std::string_view arguments);
// slash_model.cc
Result<SlashResult> Set(ChatState& state, std::string_view arguments);
Result<SlashResult> Show(ChatState& state, std::string_view arguments);
Result<SlashResult> Save(ChatState& state, std::string_view arguments);
Result<SlashResult> Load(ChatState& state, std::string_view arguments);
Result<SlashResult> SwitchTo(ChatState& state, std::string_view arguments);
Result<SlashResult> Think(ChatState& state, std::string_view arguments);
Result<SlashResult> Stats(ChatState& state, std::string_view arguments);
}  // namespace slash

}  // namespace quern::cli
