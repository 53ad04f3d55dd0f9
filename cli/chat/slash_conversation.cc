#include "cli/chat/slash_commands.h"
#include "cli/numbers.h"
#include "cli/terminal/table.h"

namespace quern::cli::slash {

Result<SlashResult> Clear(ChatState& state, std::string_view) {
  state.conversation.Clear();
  state.session->Clear();
  state.attachment.clear();
  state.view.Notice("(conversation cleared; system message and parameters kept)");
  return SlashResult();
}

Result<SlashResult> System(ChatState& state, std::string_view arguments) {
  if (arguments.empty()) {
    state.view.Info(state.conversation.system.empty() ? "(no system message)" : state.conversation.system);
    return SlashResult();
  }
  state.conversation.system = arguments == "-" ? "" : std::string(arguments);
  state.view.Notice(arguments == "-" ? "(system message removed; the next prompt is evaluated from its start)"
                                     : "(system message set; the next prompt is evaluated from its start)");
  return SlashResult();
}

// The cost of a turn is what it adds to the rendered prompt, so the rows add up to the whole.
Result<SlashResult> Context(ChatState& state, std::string_view) {
  const std::vector<ChatMessage> send = state.conversation.ToSend();
  Table table({"PART", "TOKENS", "TEXT"});
  int64_t before = 0;
  int turn = 0;
  for (size_t begin = 0; begin < send.size();) {
    size_t end = begin + 1;
    const bool is_system = send[begin].role == ChatRole::kSystem;
    while (!is_system && end < send.size() && send[end].role != ChatRole::kUser) ++end;
    QUERN_ASSIGN_OR_RETURN(const int64_t tokens, CountTokens(state, std::span(send).first(end)));
    table.Add({is_system ? "system" : fmt::format("turn {}", ++turn), fmt::to_string(tokens - before),
               send[begin].content.substr(0, 40)});
    before = tokens;
    begin = end;
  }
  const int64_t context = state.model->info().context;
  std::string text = table.Text();
  text += fmt::format("used {} of {}, free {}\n", before, context, context - before);
  int dropped = 0;
  for (const StoredMessage& message : state.conversation.messages()) {
    dropped += message.dropped && message.message.role == ChatRole::kUser ? 1 : 0;
  }
  if (dropped > 0) text += fmt::format("dropped turns: {} (a larger /set ctx brings them back)\n", dropped);
  state.view.Info(text);
  return SlashResult();
}

Result<SlashResult> Retry(ChatState& state, std::string_view arguments) {
  SlashResult result{.next = SlashResult::Next::kAnswerAgain};
  if (!arguments.empty()) {
    QUERN_ASSIGN_OR_RETURN(const int64_t seed, ParseInt(arguments));
    if (seed < 0) return Fail(Code::kInvalidArgument, "seed is {}; allowed is 0 and above", seed);
    result.seed = static_cast<uint64_t>(seed);
  }
  if (!state.conversation.TakeBackAnswer()) return Fail(Code::kInvalidArgument, "there is no answer to retry");
  return result;
}

Result<SlashResult> Undo(ChatState& state, std::string_view) {
  if (!state.conversation.TakeBackTurn()) return Fail(Code::kInvalidArgument, "there is no turn to undo");
  state.view.Notice("(last turn dropped)");
  return SlashResult();
}

Result<SlashResult> Drop(ChatState& state, std::string_view arguments) {
  QUERN_ASSIGN_OR_RETURN(const int64_t count, ParseInt(arguments));
  const int turns = state.conversation.num_turns();
  if (count < 1 || count > turns) {
    return Fail(Code::kInvalidArgument, "cannot drop {} turns; there are {}", count, turns);
  }
  state.view.Notice(
      fmt::format("(dropped the {} oldest turns)", state.conversation.DropOldest(static_cast<int>(count))));
  return SlashResult();
}

}  // namespace quern::cli::slash
