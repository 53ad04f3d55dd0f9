// The conversation of a chat: system message, turns, and which turns were dropped from the prompt. Dropped turns are
// kept, so that a larger context can bring them back. A turn is a user message and everything up to the next one. Main
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quern/generate.h"

namespace quern::cli {

struct StoredMessage {
  ChatMessage message;
  bool dropped = false;
  std::string finish_reason;  // of an assistant message
  int64_t generated_tokens = 0, thinking_tokens = 0;
};

class Conversation {
 public:
  std::string system;

  const std::vector<StoredMessage>& messages() const { return messages_; }
  // Turns that are not dropped.
  int num_turns() const;
  // System message and the turns that are not dropped: what the next prompt is made of.
  std::vector<ChatMessage> ToSend() const;

  void Add(StoredMessage message) { messages_.push_back(std::move(message)); }
  void AddUser(std::string text);
  void AddAnswer(const GenerateResult& result);
  // Removes the newest turn; its user message, or nullopt when there is none.
  std::optional<std::string> TakeBackTurn();
  // Removes what follows the newest user message. False when there is no answer.
  bool TakeBackAnswer();
  // Marks the oldest turns as dropped, the newest too when count reaches it. How many were marked.
  int DropOldest(int count);
  // Marks what a fit left out. The fit must be of ToSend().
  void ApplyFit(const FitResult& fit);
  void BringBackDropped();
  void Clear() { messages_.clear(); }

  std::optional<std::string> LastUserText() const;
  std::optional<std::string> LastAnswer() const;

 private:
  std::vector<StoredMessage> messages_;
};

}  // namespace quern::cli
