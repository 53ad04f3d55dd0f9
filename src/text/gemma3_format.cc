#include "text/gemma3_format.h"

#include <algorithm>

#include "text/gemma4_template.h"
#include "text/prompt_builder.h"
#include "text/stream_decoder.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

// Text up to an end token.
class PlainParser final : public OutputParser {
 public:
  explicit PlainParser(std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  void Push(TokenId id, std::vector<OutputEvent>* events) override {
    if (ended_) return;
    if (std::ranges::binary_search(tokenizer_->end_ids(), id)) return Finish(events);
    if (!tokenizer_->IsSpecial(id)) Emit(decoder_.Push(tokenizer_->TokenBytes(id)), events);
  }
  void Finish(std::vector<OutputEvent>* events) override {
    Emit(decoder_.Flush(), events);
    ended_ = true;
  }
  bool in_thinking() const override { return false; }

 private:
  static void Emit(std::string text, std::vector<OutputEvent>* events) {
    if (!text.empty()) events->push_back({.kind = OutputEvent::Kind::kText, .text = std::move(text)});
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  StreamDecoder decoder_;
  bool ended_ = false;
};

class Gemma3Format final : public ChatFormat {
 public:
  explicit Gemma3Format(std::shared_ptr<const Tokenizer> tokenizer)
      : ChatFormat(std::move(tokenizer)), notice_(TemplateNotice("gemma3", tokenizer_->vocabulary().chat_template)) {}

  std::string_view name() const override { return "gemma3"; }
  bool supports_tools() const override { return false; }
  bool supports_thinking() const override { return false; }
  std::string_view template_notice() const override { return notice_; }

  Result<std::vector<PromptPiece>> Render(std::span<const Message> messages,
                                          const RenderOptions& options) const override {
    QUERN_TRY(Check(messages, options));
    PromptBuilder out;
    out.Marker("<bos>");
    std::string_view system;
    if (messages[0].role == Role::kSystem || messages[0].role == Role::kDeveloper) {
      system = messages[0].content;  // prepended to the first user turn, as it is
      messages = messages.subspan(1);
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      out.Marker("<start_of_turn>").Text(messages[i].role == Role::kUser ? "user\n" : "model\n");
      if (i == 0 && !system.empty()) out.Text(system).Text("\n\n");
      out.Text(TrimWhitespace(messages[i].content)).Marker("<end_of_turn>").Text("\n");
    }
    if (options.add_generation_prompt) out.Marker("<start_of_turn>").Text("model\n");
    return out.Take();
  }

  std::unique_ptr<OutputParser> MakeParser(std::span<const PromptPiece>, const RenderOptions&) const override {
    return std::make_unique<PlainParser>(tokenizer_);
  }
  using ChatFormat::MakeParser;

 private:
  static Status Check(std::span<const Message> messages, const RenderOptions& options) {
    if (messages.empty()) return Fail(Code::kInvalidArgument, "the conversation has no messages");
    if (options.thinking == Thinking::kOn) return Fail(Code::kUnsupported, "Gemma 3 has no thinking mode");
    const bool calls = std::ranges::any_of(messages, [](const Message& m) { return !m.tool_calls.empty(); });
    if (!options.tools.empty() || calls) return Fail(Code::kUnsupported, "Gemma 3 has no tools");
    const size_t first = messages[0].role == Role::kSystem || messages[0].role == Role::kDeveloper ? 1 : 0;
    for (size_t i = first; i < messages.size(); ++i) {
      const Role expected = (i - first) % 2 == 0 ? Role::kUser : Role::kAssistant;
      if (messages[i].role != expected) {
        return Fail(Code::kInvalidArgument,
                    "message {}: Gemma 3 wants user and assistant messages in turn, after one system message at most",
                    i);
      }
    }
    if (first == messages.size())
      return Fail(Code::kInvalidArgument, "a system message alone: Gemma 3 has no turn for it");
    return {};
  }

  std::string notice_;
};

}  // namespace

Result<std::unique_ptr<ChatFormat>> MakeGemma3Format(std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_unique<Gemma3Format>(std::move(tokenizer));
}

}  // namespace quern::text
