#include "cli/chat/view.h"
#include "cli/json_text.h"
#include "cli/messages_json.h"

namespace quern::cli {
namespace {

// One object per event, flushed: delta, thinking, tool_call, turn, notice, error.
class JsonView final : public ChatView {
 public:
  explicit JsonView(Invocation& in) : in_(in) {}

  void BeginAnswer(const ChatSettings&) override {}
  void OnDelta(const Delta& delta) override {
    switch (delta.kind) {
      case Delta::Kind::kText:
        Event({{"type", "delta"}, {"text", delta.text}});
        break;
      case Delta::Kind::kThinking:
        Event({{"type", "thinking"}, {"text", delta.text}});
        break;
      case Delta::Kind::kToolCall:
        Event({{"type", "tool_call"}, {"tool_call", ToolCallsToJson({delta.tool_call})[0]}});
        break;
    }
  }
  void EndAnswer(const GenerateResult& result, const ChatSettings&) override {
    Event({{"type", "turn"},
           {"message", ToJson(result.message)},
           {"finish_reason", NameOf(result.finish)},
           {"seed", result.seed},
           {"usage", UsageJson(result.stats)},
           {"timings", TimingsJson(result.stats)}});
  }
  void AbandonAnswer() override {}
  void Notice(std::string_view text) override { Event({{"type", "notice"}, {"message", text}}); }
  void Info(std::string_view text) override { Notice(text); }
  void Failure(const Error& error) override {
    in_.diagnostics.ShowError(error);
    Json event = {{"type", "error"}};
    event.update(ErrorJson(error, ExitCodeFor(error.code)));
    Event(event);
  }

 private:
  void Event(const Json& event) {
    in_.out.Write(Dump(event) + "\n");
    in_.out.Flush();
  }
  Invocation& in_;
};

}  // namespace

std::unique_ptr<ChatView> MakeJsonView(Invocation& in) { return std::make_unique<JsonView>(in); }

}  // namespace quern::cli
