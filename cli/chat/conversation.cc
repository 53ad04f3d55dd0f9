#include "cli/chat/conversation.h"

#include <algorithm>

namespace quern::cli {
namespace {

bool BeginsTurn(const StoredMessage& message) { return message.message.role == ChatRole::kUser; }

}  // namespace

int Conversation::num_turns() const {
  return static_cast<int>(std::count_if(messages_.begin(), messages_.end(),
                                        [](const StoredMessage& m) { return BeginsTurn(m) && !m.dropped; }));
}

std::vector<ChatMessage> Conversation::ToSend() const {
  std::vector<ChatMessage> send;
  if (!system.empty()) send.push_back({.role = ChatRole::kSystem, .content = system});
  for (const StoredMessage& message : messages_) {
    if (!message.dropped) send.push_back(message.message);
  }
  return send;
}

void Conversation::AddUser(std::string text) {
  messages_.push_back({.message = {.role = ChatRole::kUser, .content = std::move(text)}});
}

void Conversation::AddAnswer(const GenerateResult& result) {
  messages_.push_back({.message = result.message,
                       .finish_reason = std::string(NameOf(result.finish)),
                       .generated_tokens = result.stats.generated_tokens,
                       .thinking_tokens = result.stats.thinking_tokens});
}

std::optional<std::string> Conversation::TakeBackTurn() {
  const auto user = std::find_if(messages_.rbegin(), messages_.rend(), BeginsTurn);
  if (user == messages_.rend()) return std::nullopt;
  std::string text = user->message.content;
  messages_.erase(user.base() - 1, messages_.end());
  return text;
}

bool Conversation::TakeBackAnswer() {
  const auto user = std::find_if(messages_.rbegin(), messages_.rend(), BeginsTurn);
  if (user == messages_.rend() || user == messages_.rbegin()) return false;
  messages_.erase(user.base(), messages_.end());
  return true;
}

int Conversation::DropOldest(int count) {
  int dropped = -1;  // messages in front of the first turn go with it
  for (StoredMessage& message : messages_) {
    if (message.dropped) continue;
    if (BeginsTurn(message) && ++dropped == count) return dropped;
    if (count > 0) message.dropped = true;
  }
  return std::max(dropped + 1, 0);
}

void Conversation::ApplyFit(const FitResult& fit) {
  size_t sent = system.empty() ? 0 : 1;
  for (StoredMessage& message : messages_) {
    if (message.dropped) continue;
    if (sent < fit.dropped.size() && fit.dropped[sent]) message.dropped = true;
    ++sent;
  }
}

void Conversation::BringBackDropped() {
  for (StoredMessage& message : messages_) message.dropped = false;
}

std::optional<std::string> Conversation::LastUserText() const {
  const auto user = std::find_if(messages_.rbegin(), messages_.rend(), BeginsTurn);
  return user == messages_.rend() ? std::nullopt : std::optional<std::string>(user->message.content);
}

std::optional<std::string> Conversation::LastAnswer() const {
  if (messages_.empty() || messages_.back().message.role != ChatRole::kAssistant) return std::nullopt;
  return messages_.back().message.content;
}

}  // namespace quern::cli
