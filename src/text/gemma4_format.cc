#include "text/gemma4_format.h"

#include <algorithm>

#include "text/gemma4_parser.h"
#include "text/gemma4_template.h"
#include "text/gemma4_tool_syntax.h"
#include "text/prompt_builder.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kDeveloper:
      return "developer";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "model";
    case Role::kTool:
      return "tool";
  }
  return "user";
}

bool IsSystem(const Message& message) { return message.role == Role::kSystem || message.role == Role::kDeveloper; }

// Thoughts written out in an answer are removed: of each part before a close marker, what follows an open marker.
std::string StripThinking(std::string_view text) {
  static constexpr std::string_view kOpen = "<|channel>", kClose = "<channel|>";
  std::string kept;
  while (true) {
    const size_t close = text.find(kClose);
    const std::string_view part = text.substr(0, close);
    kept += part.substr(0, part.find(kOpen));
    if (close == std::string_view::npos) break;
    text.remove_prefix(close + kClose.size());
  }
  return std::string(TrimWhitespace(kept));
}

// The name of the function a tool message answers: by call id, else as it says itself.
std::string_view AnsweredName(const Message& answer, std::span<const ToolCall> calls) {
  const auto call = std::ranges::find(calls, answer.tool_call_id, &ToolCall::id);
  if (!answer.tool_call_id.empty() && call != calls.end()) return call->name;
  return answer.name.empty() ? std::string_view("unknown") : std::string_view(answer.name);
}

// Renders one conversation; lives for one call.
class Gemma4Renderer {
 public:
  Gemma4Renderer(std::span<const Message> messages, const RenderOptions& options, const Gemma4Features& features)
      : messages_(messages), options_(options), features_(features) {}

  std::vector<PromptPiece> Render() {
    out_.Marker("<bos>");
    size_t first = 0;
    const bool has_system = IsSystem(messages_[0]);
    if (has_system || options_.thinking == Thinking::kOn || !options_.tools.empty()) {
      RenderSystem(has_system ? messages_[0].content : std::string_view());
      first = has_system ? 1 : 0;
    }
    for (size_t i = first; i < messages_.size(); ++i) {
      if (messages_[i].role == Role::kUser) last_user_ = i;
    }
    for (size_t i = first; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      if (message.role == Role::kAssistant) {
        RenderAssistant(i);
      } else if (message.role != Role::kTool) {
        out_.Marker("<|turn>").Text(RoleName(message.role)).Text("\n").Text(TrimWhitespace(message.content));
        CloseTurn();
      }
    }
    if (options_.add_generation_prompt) RenderGenerationPrompt();
    return out_.Take();
  }

 private:
  // How the last turn stands. kOpen: inside a model turn with nothing to set apart; kOpenText: behind an answer.
  enum class End : uint8_t { kClosed, kPendingCall, kOpen, kOpenText };

  void RenderSystem(std::string_view content) {
    out_.Marker("<|turn>").Text("system\n");
    if (options_.thinking == Thinking::kOn) out_.Marker("<|think|>").Text(features_.think_newline ? "\n" : "");
    out_.Text(TrimWhitespace(content));
    for (const ToolDeclaration& tool : options_.tools) RenderDeclaration(tool, &out_);
    CloseTurn();
  }

  void CloseTurn() {
    out_.Marker("<turn|>").Text("\n");
    end_ = End::kClosed;
  }

  // The next message that is no tool answer, or the end.
  size_t NextTurn(size_t i) const {
    do ++i;
    while (i < messages_.size() && messages_[i].role == Role::kTool);
    return i;
  }

  void RenderAssistant(size_t i) {
    const Message& message = messages_[i];
    if (end_ == End::kOpenText) {
      out_.Text("\n");  // two answers in a row share a turn
    } else if (end_ != End::kOpen) {
      out_.Marker("<|turn>").Text("model\n");
    }
    const size_t next = NextTurn(i);
    const bool answered = next > i + 1 && !message.tool_calls.empty();
    if (!message.tool_calls.empty()) {
      const bool keep = options_.preserve_thinking || !last_user_ || i > *last_user_;
      if (keep && !message.reasoning.empty()) {
        out_.Marker("<|channel>").Text("thought\n").Text(message.reasoning).Text("\n").Marker("<channel|>");
      }
      for (const ToolCall& call : message.tool_calls) RenderCall(call, &out_);
      for (size_t k = i + 1; k < next; ++k) {
        const Json answer = messages_[k].response.is_null() ? Json(messages_[k].content) : messages_[k].response;
        RenderAnswer(AnsweredName(messages_[k], message.tool_calls), answer, &out_);
      }
    }
    const std::string content = StripThinking(message.content);
    out_.Text(content);
    if (!message.tool_calls.empty() && !answered) {
      out_.Marker("<|tool_response>");
      end_ = End::kPendingCall;
    } else if (next < messages_.size() ? messages_[next].role == Role::kAssistant : answered && content.empty()) {
      end_ = content.empty() ? End::kOpen : End::kOpenText;
    } else {
      CloseTurn();
    }
  }

  void RenderGenerationPrompt() {
    if (end_ == End::kPendingCall) return;
    const bool at_turn = end_ == End::kClosed;
    if (at_turn) out_.Marker("<|turn>").Text("model\n");
    if (options_.thinking == Thinking::kOff) {
      if (at_turn ? features_.empty_thought_at_turn : features_.empty_thought_after_tool) {
        out_.Marker("<|channel>").Text("thought\n").Marker("<channel|>");
      }
    } else if (at_turn ? features_.open_thought_at_turn : features_.open_thought_after_tool) {
      out_.Marker("<|channel>").Text("thought\n");
    }
  }

  std::span<const Message> messages_;
  const RenderOptions& options_;
  const Gemma4Features& features_;
  PromptBuilder out_;
  std::optional<size_t> last_user_;
  End end_ = End::kClosed;
};

class Gemma4Format final : public ChatFormat {
 public:
  explicit Gemma4Format(std::shared_ptr<const Tokenizer> tokenizer) : ChatFormat(std::move(tokenizer)) {
    const std::string& chat_template = tokenizer_->vocabulary().chat_template;
    features_ = ReadGemma4Features(chat_template);
    notice_ = TemplateNotice(name(), chat_template);
    const SpecialIds& special = tokenizer_->special();
    const bool channels = special.channel_open && special.channel_close;
    features_.thinking = features_.thinking && special.think && channels;
    features_.tools = features_.tools && special.tool_open && special.tool_close && special.tool_call_open &&
                      special.tool_call_close && special.tool_response_open && special.tool_response_close &&
                      special.quote && channels;
    if (!channels) features_.empty_thought_at_turn = features_.empty_thought_after_tool = false;
  }

  std::string_view name() const override { return "gemma4"; }
  bool supports_tools() const override { return features_.tools; }
  bool supports_thinking() const override { return features_.thinking; }
  std::string_view template_notice() const override { return notice_; }

  Result<std::vector<PromptPiece>> Render(std::span<const Message> messages,
                                          const RenderOptions& options) const override {
    QUERN_TRY(CheckOptions(messages, options));
    QUERN_TRY(CheckMessages(messages));
    return Gemma4Renderer(messages, options, features_).Render();
  }

  std::unique_ptr<OutputParser> MakeParser(std::span<const PromptPiece> prompt,
                                           const RenderOptions& options) const override {
    std::vector<std::string> tools;
    for (const ToolDeclaration& tool : options.tools) tools.push_back(tool.name);
    return MakeGemma4Parser(tokenizer_, std::move(tools), EndsInsideChannel(prompt));
  }
  using ChatFormat::MakeParser;

 private:
  Status CheckOptions(std::span<const Message> messages, const RenderOptions& options) const {
    if (options.thinking == Thinking::kOn && !features_.thinking) {
      return WithHint(Fail(Code::kUnsupported, "this model's chat template has no thinking mode"), "turn thinking off");
    }
    const bool calls = std::ranges::any_of(messages, [](const Message& m) { return !m.tool_calls.empty(); });
    if ((calls || !options.tools.empty()) && !features_.tools) {
      return WithHint(Fail(Code::kUnsupported, "this model's chat template has no tools"), "send no tools");
    }
    for (const ToolDeclaration& tool : options.tools) {
      if (tool.name.empty()) return Fail(Code::kInvalidArgument, "a tool without a name");
      if (!tool.parameters.is_null() && !tool.parameters.is_object()) {
        return Fail(Code::kInvalidArgument, "tool {}: parameters must be a JSON schema object", tool.name);
      }
    }
    return {};
  }

  static Status CheckMessages(std::span<const Message> messages) {
    if (messages.empty()) return Fail(Code::kInvalidArgument, "the conversation has no messages");
    bool open_calls = false;  // whether a tool answer may stand here
    bool answered = true;
    for (size_t i = 0; i < messages.size(); ++i) {
      const Message& message = messages[i];
      if (message.role == Role::kTool) {
        if (!open_calls) return Fail(Code::kInvalidArgument, "message {}: a tool answer that follows no tool call", i);
        answered = true;
        continue;
      }
      if (!answered) return Fail(Code::kInvalidArgument, "message {}: the tool calls before it have no answer", i);
      if (!message.tool_calls.empty() && message.role != Role::kAssistant) {
        return Fail(Code::kInvalidArgument, "message {}: tool calls in a message that is not the assistant's", i);
      }
      for (const ToolCall& call : message.tool_calls) {
        if (call.name.empty()) return Fail(Code::kInvalidArgument, "message {}: a tool call without a name", i);
        if (!call.arguments.is_object() && !call.arguments.is_null()) {
          return Fail(Code::kInvalidArgument, "message {}: the arguments of the call to {} are not a JSON object", i,
                      call.name);
        }
      }
      open_calls = !message.tool_calls.empty();
      answered = !open_calls;
    }
    return {};
  }

  Gemma4Features features_;
  std::string notice_;
};

}  // namespace

Result<std::unique_ptr<ChatFormat>> MakeGemma4Format(std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_unique<Gemma4Format>(std::move(tokenizer));
}

}  // namespace quern::text
