#include "text/gemma4_parser.h"

#include <algorithm>

#include "text/gemma4_value.h"
#include "text/stream_decoder.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

constexpr size_t kMaxHeaderBytes = 64;  // of a channel name; longer ones are unknown channels anyway

// States and what leads on:
//   kAnswer   public text; "call:NAME{" of a declared tool at its start is a call whose start token is missing
//   kHeader   behind <|channel>, up to the newline that ends the channel's name
//   kThought  the channel "thought"
//   kPrivate  a channel of another name: dropped ("final" is the answer)
//   kCall     behind <|tool_call>
//   kEnded    behind an end token
// A marker means the same in every state: <|channel> and <|tool_call> open, <channel|> leads back to kAnswer, an end
// token ends. So a channel or a call that was never closed cannot swallow what follows.
class Gemma4Parser final : public OutputParser {
 public:
  Gemma4Parser(std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> tools, bool inside_thought)
      : tokenizer_(std::move(tokenizer)),
        special_(tokenizer_->special()),
        state_(inside_thought ? State::kThought : State::kAnswer) {
    for (const std::string& tool : tools) call_starts_.push_back("call:" + tool + "{");
    at_start_ = !call_starts_.empty();
  }

  void Push(TokenId id, std::vector<OutputEvent>* events) override {
    if (state_ == State::kEnded) return;
    if (std::ranges::binary_search(tokenizer_->end_ids(), id)) {
      if (state_ == State::kCall) CloseCall("", events);  // complete but for its close token: still a call
      Leave(events);
      state_ = State::kEnded;
    } else if (id == special_.channel_open) {
      Leave(events);
      header_.clear();
      state_ = State::kHeader;
    } else if (id == special_.channel_close) {
      Leave(events);
      StartAnswer();
    } else if (id == special_.tool_call_open) {
      if (state_ == State::kAnswer && TrimWhitespace(held_.bytes).empty()) held_.Clear();  // space between calls
      Leave(events);
      state_ = State::kCall;
      start_marker_ = "<|tool_call>";
    } else if (id == special_.tool_call_close) {
      if (state_ == State::kCall) CloseCall("<tool_call|>", events);
    } else if (id == special_.quote) {
      if (state_ == State::kCall) held_.quotes.push_back(held_.bytes.size());
    } else if (!tokenizer_->IsSpecial(id)) {
      PushBytes(tokenizer_->TokenBytes(id), events);
    }
  }

  void Finish(std::vector<OutputEvent>* events) override {
    Leave(events);
    state_ = State::kEnded;
  }

  bool in_thinking() const override {
    return state_ == State::kHeader || state_ == State::kThought || state_ == State::kPrivate;
  }

 private:
  enum class State : uint8_t { kAnswer, kHeader, kThought, kPrivate, kCall, kEnded };
  using Kind = OutputEvent::Kind;

  void PushBytes(std::string_view bytes, std::vector<OutputEvent>* events) {
    switch (state_) {
      case State::kAnswer:
        return PushAnswer(bytes, events);
      case State::kHeader:
        return PushHeader(bytes, events);
      case State::kThought:
        return PushThought(decoder_.Push(bytes), events);
      case State::kCall:
        held_.bytes += bytes;
        return;
      case State::kPrivate:
      case State::kEnded:
        return;
    }
  }

  void PushHeader(std::string_view bytes, std::vector<OutputEvent>* events) {
    const size_t newline = bytes.find('\n');
    header_ += bytes.substr(0, newline);
    if (newline == std::string_view::npos) {
      if (header_.size() > kMaxHeaderBytes) state_ = State::kPrivate;
      return;
    }
    const std::string_view name = TrimWhitespace(header_);
    if (name == "final") {
      StartAnswer();
    } else {
      state_ = name == "thought" ? State::kThought : State::kPrivate;
    }
    if (const std::string_view rest = bytes.substr(newline + 1); !rest.empty()) PushBytes(rest, events);
  }

  // Newlines at the end of a thought belong to the layout: held until more text follows.
  void PushThought(std::string_view text, std::vector<OutputEvent>* events) {
    const size_t last = text.find_last_not_of('\n');
    if (last == std::string_view::npos) {
      thought_newlines_ += text.size();
      return;
    }
    std::string shown(thought_newlines_, '\n');
    shown += text.substr(0, last + 1);
    thought_newlines_ = text.size() - last - 1;
    events->push_back({.kind = Kind::kThinking, .text = std::move(shown)});
  }

  void StartAnswer() {
    state_ = State::kAnswer;
    at_start_ = !call_starts_.empty() || num_calls_ > 0;
  }

  void PushAnswer(std::string_view bytes, std::vector<OutputEvent>* events) {
    if (!at_start_) return Emit(decoder_.Push(bytes), events);
    held_.bytes += bytes;
    const size_t begin = std::min(held_.bytes.find_first_not_of(" \t\r\n"), held_.bytes.size());
    const std::string_view text = std::string_view(held_.bytes).substr(begin);
    bool possible = text.empty();
    for (const std::string_view start : call_starts_) {
      if (text.starts_with(start)) {
        held_.bytes.erase(0, begin);
        state_ = State::kCall;
        start_marker_.clear();
        return;
      }
      possible |= start.starts_with(text);
    }
    if (!possible) ReleaseHeld(events);
  }

  // What was held is no call: it is the beginning of the answer.
  void ReleaseHeld(std::vector<OutputEvent>* events) {
    at_start_ = false;
    Emit(decoder_.Push(held_.bytes), events);
    held_.Clear();
  }

  void CloseCall(std::string_view close_marker, std::vector<OutputEvent>* events) {
    Result<ToolCall> call = ParseToolCall(held_);
    if (call) {
      call->id = fmt::format("call_{}", num_calls_++);
      events->push_back({.kind = Kind::kToolCall, .tool_call = *std::move(call)});
    } else {
      Emit(start_marker_ + held_.Spelled() + std::string(close_marker), events);
    }
    held_.Clear();
    StartAnswer();
  }

  // Leaves the present state: what it held back comes out.
  void Leave(std::vector<OutputEvent>* events) {
    if (state_ == State::kAnswer) {
      const bool layout = num_calls_ > 0 && TrimWhitespace(held_.bytes).empty();  // space behind a call
      if (!held_.bytes.empty() && !layout) ReleaseHeld(events);
      Emit(decoder_.Flush(), events);
    } else if (state_ == State::kCall) {
      Emit(start_marker_ + held_.Spelled(), events);
    } else if (state_ == State::kThought) {
      PushThought(decoder_.Flush(), events);
      thought_newlines_ = 0;
    }
    held_.Clear();
  }

  static void Emit(std::string text, std::vector<OutputEvent>* events) {
    if (!text.empty()) events->push_back({.kind = Kind::kText, .text = std::move(text)});
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  const SpecialIds& special_;
  std::vector<std::string> call_starts_;
  State state_;
  bool at_start_ = false;  // of an answer, where a call may begin without its token or space follow a call
  StreamDecoder decoder_;  // of the answer or the thought, whichever is open
  std::string header_;
  size_t thought_newlines_ = 0;
  ToolCallSource held_;       // a call, or the start of an answer that may become one
  std::string start_marker_;  // of the present call, as the model wrote it; may be empty
  int num_calls_ = 0;
};

}  // namespace

std::unique_ptr<OutputParser> MakeGemma4Parser(std::shared_ptr<const Tokenizer> tokenizer,
                                               std::vector<std::string> tools, bool inside_thought) {
  return std::make_unique<Gemma4Parser>(std::move(tokenizer), std::move(tools), inside_thought);
}

}  // namespace quern::text
