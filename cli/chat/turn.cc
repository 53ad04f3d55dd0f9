#include "cli/chat/chat_state.h"
#include "cli/interrupt.h"

namespace quern::cli {
namespace {

Result<FitResult> Fit(ChatState& state) {
  const FitRequest request{.context = state.model->info().context,
                           .max_tokens = state.settings.max_tokens,
                           .policy = state.settings.context_policy};
  return FitContext(state.conversation.ToSend(), request,
                    [&](std::span<const ChatMessage> messages) { return CountTokens(state, messages); });
}

void ShowFit(ChatState& state, const FitResult& fit) {
  if (fit.num_dropped_turns > 0) {
    state.view.Notice(fmt::format("(context: dropped the {} oldest turns, {} tokens; system message kept)",
                                  fit.num_dropped_turns, fit.num_dropped_tokens));
  }
  if (fit.answer_was_limited) {
    state.view.Notice(fmt::format("(answer limited to {} tokens by the context)", fit.answer_limit));
  }
}

TurnOutcome Fail(ChatState& state, Error error) {
  return {.error = std::move(error), .taken_back = state.conversation.TakeBackTurn()};
}

}  // namespace

TurnOutcome RunTurn(ChatState& state, std::optional<uint64_t> seed) {
  const StopScope stop;
  Result<FitResult> fit = Fit(state);
  if (!fit) return Fail(state, std::move(fit).error());
  ShowFit(state, *fit);
  state.conversation.ApplyFit(*fit);

  GenerateRequest request = RequestFor(state, std::move(fit->messages));
  request.max_tokens = fit->answer_limit;
  request.cancel = &StopRequested();
  if (seed) request.sampling.seed = seed;
  state.view.BeginAnswer(state.settings);
  Result<GenerateResult> result = Generate(state.model, state.session.get(), request, [&](const Delta& delta) {
    state.view.OnDelta(delta);
    return true;
  });
  if (!result) {
    state.view.AbandonAnswer();
    return Fail(state, std::move(result).error());
  }
  const bool nothing_visible = result->message.content.empty() && result->message.tool_calls.empty();
  state.totals.Add(result->stats);
  state.view.EndAnswer(*result, state.settings);
  TurnOutcome outcome;
  if (result->finish == FinishReason::kInterrupted && nothing_visible) {
    outcome.taken_back = state.conversation.TakeBackTurn();
    state.view.Notice("(nothing was answered; the message is taken back)");
  } else {
    state.conversation.AddAnswer(*result);
  }
  if (!state.session_path.empty()) {
    if (Status saved = SaveSession(state.session_path, ToSaved(state)); !saved)
      outcome.error = std::move(saved).error();
  }
  return outcome;
}

}  // namespace quern::cli
