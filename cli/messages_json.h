// Conversations as JSON in the form of the OpenAI chat API, both ways.
#pragma once

#include <string_view>
#include <vector>

#include "quern/chat.h"
#include "quern/generate.h"

#include "cli/json_text.h"

namespace quern::cli {

std::string_view NameOf(ChatRole role);
Result<ChatMessage> MessageFromJson(const Json& json, std::string_view what);
// An array of messages, or an object with a "messages" array.
Result<std::vector<ChatMessage>> MessagesFromJson(const Json& json, std::string_view what);
Json ToJson(const ChatMessage& message);
Json ToolCallsToJson(const std::vector<ChatToolCall>& calls);

Json UsageJson(const GenerateStats& stats);
Json TimingsJson(const GenerateStats& stats);
// Rates are 0 when fewer than two tokens make them meaningless.
double PromptRate(const GenerateStats& stats);
double DecodeRate(const GenerateStats& stats);

}  // namespace quern::cli
