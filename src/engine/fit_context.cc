#include <algorithm>

#include "quern/chat.h"

#include "base/status.h"

namespace quern {
namespace {

// Positions that are never promised to anybody: the end marker of the answer and the template's own rounding.
constexpr int64_t kSlackTokens = 16;
constexpr int64_t kSmallestReserve = 256;

bool IsInstruction(const ChatMessage& message) {
  return message.role == ChatRole::kSystem || message.role == ChatRole::kDeveloper;
}

// Which turn each message belongs to, oldest first; -1 for instructions, which are in no turn and never dropped.
// Messages in front of the first user message form a turn of their own (an imported conversation may begin with the
// assistant).
struct Turns {
  std::vector<int> of_message;
  int count = 0;
};

Turns SplitTurns(std::span<const ChatMessage> messages) {
  Turns turns;
  for (const ChatMessage& message : messages) {
    if (IsInstruction(message)) {
      turns.of_message.push_back(-1);
      continue;
    }
    if (message.role == ChatRole::kUser || turns.count == 0) ++turns.count;
    turns.of_message.push_back(turns.count - 1);
  }
  return turns;
}

std::vector<ChatMessage> WithoutOldest(std::span<const ChatMessage> messages, const Turns& turns, int num_dropped) {
  std::vector<ChatMessage> kept;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (turns.of_message[i] < 0 || turns.of_message[i] >= num_dropped) kept.push_back(messages[i]);
  }
  return kept;
}

// R of docs/cli.md: what the answer may count on.
int64_t Reserve(const FitRequest& request) {
  const int64_t quarter = request.context / 4;
  const int64_t wanted = request.max_tokens >= 0 ? std::min(request.max_tokens, quarter) : quarter;
  return std::max(wanted, std::min(kSmallestReserve, quarter));
}

tl::unexpected<Error> DoesNotFit(int64_t needed, int64_t context, std::string_view subject) {
  return WithHint(Fail(Code::kResourceExhausted, "{} needs {} tokens, context is {}", subject, needed, context),
                  "shorten it, raise --ctx, or /drop");
}

}  // namespace

Result<FitResult> FitContext(std::span<const ChatMessage> messages, const FitRequest& request,
                             const CountTokensFn& count) {
  if (request.context <= 0) return Fail(Code::kInvalidArgument, "context is {}; it must be positive", request.context);
  const int64_t reserve = Reserve(request);
  const int64_t budget = request.context - reserve - kSlackTokens;
  const Turns turns = SplitTurns(messages);

  FitResult fit;
  fit.messages.assign(messages.begin(), messages.end());
  QUERN_ASSIGN_OR_RETURN(const int64_t all_tokens, count(fit.messages));
  fit.prompt_tokens = all_tokens;

  if (all_tokens > budget && turns.count > 1) {
    if (request.policy == ContextPolicy::kError) {
      return WithHint(
          Fail(Code::kResourceExhausted, "the conversation needs {} tokens, {} of the context of {} are free for it",
               all_tokens, std::max<int64_t>(budget, 0), request.context),
          "drop older turns (/drop), raise --ctx, or use --context-policy trim");
    }
    // Down to three quarters, not merely to the budget: the next turns then extend a stable prefix instead of shifting
    // it every time.
    while (fit.num_dropped_turns + 1 < turns.count && fit.prompt_tokens > budget * 3 / 4) {
      fit.messages = WithoutOldest(messages, turns, ++fit.num_dropped_turns);
      QUERN_ASSIGN_OR_RETURN(fit.prompt_tokens, count(fit.messages));
    }
  }

  const int64_t room = request.context - kSlackTokens - fit.prompt_tokens;
  if (room < 1) return DoesNotFit(fit.prompt_tokens, request.context, "message");
  fit.answer_limit = request.max_tokens >= 0 ? std::min(request.max_tokens, room) : room;
  fit.answer_was_limited = room < reserve || (request.max_tokens >= 0 && fit.answer_limit < request.max_tokens);
  fit.num_dropped_tokens = all_tokens - fit.prompt_tokens;
  for (const int turn : turns.of_message) fit.dropped.push_back(turn >= 0 && turn < fit.num_dropped_turns);
  return fit;
}

}  // namespace quern
