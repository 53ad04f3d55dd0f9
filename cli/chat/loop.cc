#include "cli/chat/loop.h"

#include <chrono>
#include <csignal>

#include "cli/chat/message_reader.h"
#include "cli/chat/slash_commands.h"
#include "cli/interrupt.h"

namespace quern::cli {
namespace {

constexpr std::chrono::seconds kTwiceWithin{1};

class ChatLoop {
 public:
  ChatLoop(ChatState& state, LineSource& lines, const HistoryFile& history)
      : state_(state), lines_(lines), history_(history), reader_(lines) {}

  Result<ExitCode> Run() {
    for (;;) {
      if (TerminationSignal() != 0) return End();
      Result<Input> input = reader_.Next();
      if (!input) {
        QUERN_TRY(Survive(std::move(input).error()));
        continue;
      }
      switch (input->kind) {
        case Input::Kind::kEnd:
          return ExitCode::kOk;
        case Input::Kind::kTerminated:
          return End();
        case Input::Kind::kInterrupted:
          if (!state_.interactive || !Interrupted(input->had_text)) return ExitCode::kInterrupted;
          break;
        case Input::Kind::kMessage:
          Remember(input->text);
          QUERN_TRY(Send(std::move(input->text)));
          break;
        case Input::Kind::kCommand: {
          Remember(input->text);
          QUERN_ASSIGN_OR_RETURN(const bool leave, Command(input->text));
          if (leave) return ExitCode::kOk;
          break;
        }
      }
    }
  }

 private:
  void Remember(const std::string& text) {
    if (!state_.interactive || text.starts_with(' ')) return;
    lines_.Remember(text);
    history_.Append(text);
  }

  // Saves what --session asks for; the status of the signal.
  Result<ExitCode> End() {
    if (!state_.session_path.empty()) QUERN_TRY(SaveSession(state_.session_path, ToSaved(state_)));
    return TerminationSignal() == SIGHUP ? ExitCode::kHangup : ExitCode::kTerminated;
  }

  // False: leave.
  bool Interrupted(bool had_text) {
    if (had_text) return true;
    const auto now = std::chrono::steady_clock::now();
    const bool again = last_interrupt_ && now - *last_interrupt_ < kTwiceWithin;
    last_interrupt_ = now;
    if (!again) state_.view.Notice("(Ctrl-D or /bye to exit)");
    return !again;
  }

  Status Survive(Error error) {
    if (!state_.interactive) return tl::unexpected(std::move(error));
    state_.view.Failure(error);
    return {};
  }

  Status Send(std::string text) {
    state_.conversation.AddUser(std::exchange(state_.attachment, {}) + text);
    return Answer(std::nullopt);
  }

  Status Answer(std::optional<uint64_t> seed) {
    TurnOutcome outcome = RunTurn(state_, seed);
    if (!outcome.error) return {};
    const bool mendable = outcome.taken_back && state_.interactive;
    if (mendable && !lines_.Prefill(*outcome.taken_back)) outcome.error->hint += "; the message is in the history (Up)";
    return Survive(std::move(*outcome.error));
  }

  // True: leave.
  Result<bool> Command(const std::string& line) {
    Result<SlashResult> result = RunSlashCommand(state_, line);
    if (!result) {
      QUERN_TRY(Survive(std::move(result).error()));
      return false;
    }
    switch (result->next) {
      case SlashResult::Next::kContinue:
        return false;
      case SlashResult::Next::kLeave:
        return true;
      case SlashResult::Next::kSend:
        QUERN_TRY(Send(std::move(result->message)));
        return false;
      case SlashResult::Next::kAnswerAgain:
        QUERN_TRY(Answer(result->seed));
        return false;
    }
    return false;
  }

  ChatState& state_;
  LineSource& lines_;
  const HistoryFile& history_;
  MessageReader reader_;
  std::optional<std::chrono::steady_clock::time_point> last_interrupt_;
};

}  // namespace

Result<ExitCode> RunChatLoop(ChatState& state, LineSource& lines, const HistoryFile& history) {
  return ChatLoop(state, lines, history).Run();
}

}  // namespace quern::cli
