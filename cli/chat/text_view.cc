#include <fmt/format.h>

#include "cli/chat/statistics.h"
#include "cli/chat/view.h"
#include "cli/json_text.h"
#include "cli/messages_json.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

class TextView final : public ChatView {
 public:
  explicit TextView(Invocation& in) : in_(in) {}

  void BeginAnswer(const ChatSettings& settings) override {
    // Between two answers in a pipe stands one blank line.
    if (answered_ && !in_.terminal.stdout_is_terminal) in_.out.Write("\n");
    answered_ = true;
    show_thinking_ = settings.show_thinking;
    const bool wraps = settings.wrap && in_.terminal.stdout_is_terminal && !in_.terminal.is_dumb;
    TextStream::Options options{.is_terminal = in_.terminal.stdout_is_terminal};
    if (wraps) options.width = Terminal::Width;
    stream_ = std::make_unique<TextStream>(in_.out, std::move(options));
    thinking_on_line_ = spinner_ = false;
  }

  void OnDelta(const Delta& delta) override {
    switch (delta.kind) {
      case Delta::Kind::kThinking:
        ShowThinking(delta);
        break;
      case Delta::Kind::kText:
        EndThinking();
        stream_->Write(delta.text);
        break;
      case Delta::Kind::kToolCall:
        EndThinking();
        stream_->Write(Dump(ToolCallsToJson({delta.tool_call})[0]));
        break;
    }
  }

  void EndAnswer(const GenerateResult& result, const ChatSettings& settings) override {
    AbandonAnswer();
    if (const std::string empty = FormatEmptyAnswer(result); !empty.empty()) Notice(empty);
    if (settings.stats) Notice(FormatTurnLine(result));
  }

  void AbandonAnswer() override {
    EndThinking();
    stream_->Finish();
  }

  void Notice(std::string_view text) override { in_.diagnostics.Notice(text); }
  void Info(std::string_view text) override {
    in_.diagnostics.Raw(Visible(text));
    if (!text.ends_with('\n')) in_.diagnostics.Raw("\n");
  }
  void Failure(const Error& error) override { in_.diagnostics.ShowError(error); }

 private:
  // off: a spinner on a terminal; dim: the text on stderr; on: the text on stdout.
  void ShowThinking(const Delta& delta) {
    if (show_thinking_ == ThinkingDisplay::kOn) {
      stream_->Write(delta.text);
      thinking_on_line_ = true;
    } else if (show_thinking_ == ThinkingDisplay::kDim) {
      in_.diagnostics.Raw(Dim(Visible(delta.text), in_.terminal.color_stderr));
      thinking_on_line_ = true;
    } else if (in_.terminal.stderr_is_terminal && !in_.terminal.is_dumb && !in_.diagnostics.quiet()) {
      constexpr std::chrono::milliseconds kRedraw{100};
      const auto now = std::chrono::steady_clock::now();
      if (spinner_ && now - spun_ < kRedraw) return;
      spun_ = now;
      spinner_ = true;
      in_.diagnostics.Raw("\r\x1b[K" +
                          Dim(fmt::format("thinking… {} tokens", delta.num_tokens), in_.terminal.color_stderr));
    }
  }

  void EndThinking() {
    if (spinner_) in_.diagnostics.Raw("\r\x1b[K");
    if (thinking_on_line_ && show_thinking_ == ThinkingDisplay::kOn) stream_->Write("\n\n");
    if (thinking_on_line_ && show_thinking_ == ThinkingDisplay::kDim) in_.diagnostics.Raw("\n");
    spinner_ = thinking_on_line_ = false;
  }

  Invocation& in_;
  std::unique_ptr<TextStream> stream_;
  ThinkingDisplay show_thinking_ = ThinkingDisplay::kOff;
  bool answered_ = false, thinking_on_line_ = false, spinner_ = false;
  std::chrono::steady_clock::time_point spun_;
};

}  // namespace

std::unique_ptr<ChatView> MakeTextView(Invocation& in) { return std::make_unique<TextView>(in); }

}  // namespace quern::cli
