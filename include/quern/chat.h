// Conversations: messages, tool calls, and fitting a conversation into the context. Values; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/error.h"

namespace quern {

enum class ChatRole : uint8_t { kSystem, kDeveloper, kUser, kAssistant, kTool };

struct ChatToolCall {
  std::string id;
  std::string name;
  std::string arguments_json;  // a JSON object
};

struct ChatMessage {
  ChatRole role = ChatRole::kUser;
  std::string content;
  std::string thinking;                  // assistant: reasoning, without markers
  std::vector<ChatToolCall> tool_calls;  // assistant
  std::string tool_call_id, name;        // tool
};

enum class ThinkMode : uint8_t { kAuto, kOff, kOn };  // auto: off

struct ChatOptions {
  ThinkMode think = ThinkMode::kAuto;
  std::string tools_json;  // an array of OpenAI-style tool declarations; empty: none
};

// ---- Context fitting: one rule for chat and server (docs/cli.md, "Context fitting") ----

enum class ContextPolicy : uint8_t { kTrim, kError };

struct FitRequest {
  int64_t context = 0;      // C: positions available
  int64_t max_tokens = -1;  // asked for; -1: open
  ContextPolicy policy = ContextPolicy::kTrim;
};

struct FitResult {
  std::vector<ChatMessage> messages;  // what to send
  int64_t prompt_tokens = 0;
  int64_t answer_limit = 0;   // tokens that may be generated
  int num_dropped_turns = 0;  // oldest first; a turn is never split
  std::vector<bool> dropped;  // per input message
  int64_t num_dropped_tokens = 0;
  bool answer_was_limited = false;  // the reserve had to shrink
};

// Counts the tokens of a rendered conversation.
using CountTokensFn = std::function<Result<int64_t>(std::span<const ChatMessage>)>;

// Drops whole oldest turns until the prompt fits, keeping the system message and the newest turn. ResourceExhausted
// with both numbers when system and newest turn alone do not fit, or when policy is kError and anything would be
// dropped.
Result<FitResult> FitContext(std::span<const ChatMessage> messages, const FitRequest& request,
                             const CountTokensFn& count);

}  // namespace quern
