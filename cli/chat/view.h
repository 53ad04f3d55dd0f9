// How a chat shows what happens: as text on a terminal or into a pipe, or as NDJSON events. Main thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "cli/chat/settings.h"
#include "cli/invocation.h"
#include "cli/terminal/text_stream.h"

namespace quern::cli {

class ChatView {
 public:
  virtual ~ChatView() = default;
  virtual void BeginAnswer(const ChatSettings& settings) = 0;
  virtual void OnDelta(const Delta& delta) = 0;
  // The answer is complete; result is what is kept.
  virtual void EndAnswer(const GenerateResult& result, const ChatSettings& settings) = 0;
  // The answer broke off with an error.
  virtual void AbandonAnswer() = 0;
  virtual void Notice(std::string_view text) = 0;  // one line about what quern did by itself
  virtual void Info(std::string_view text) = 0;    // what a command was asked for; several lines
  virtual void Failure(const Error& error) = 0;    // of a command or turn that the chat survives
};

std::unique_ptr<ChatView> MakeTextView(Invocation& in);
std::unique_ptr<ChatView> MakeJsonView(Invocation& in);

}  // namespace quern::cli
