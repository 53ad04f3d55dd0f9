#include "cli/messages_json.h"

#include <array>
#include <utility>

namespace quern::cli {
namespace {

constexpr std::array<std::pair<ChatRole, std::string_view>, 5> kRoles = {{{ChatRole::kSystem, "system"},
                                                                          {ChatRole::kDeveloper, "developer"},
                                                                          {ChatRole::kUser, "user"},
                                                                          {ChatRole::kAssistant, "assistant"},
                                                                          {ChatRole::kTool, "tool"}}};

Result<std::vector<ChatToolCall>> ToolCallsFromJson(const Json& json, std::string_view what) {
  if (!json.is_array()) return Fail(Code::kInvalidArgument, "{}: \"tool_calls\" must be an array", what);
  std::vector<ChatToolCall> calls;
  for (const Json& call : json) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) {
      return Fail(Code::kInvalidArgument, "{}: a tool call must be an object with \"function\"", what);
    }
    const Json& function = call["function"];
    ChatToolCall parsed;
    parsed.id = call.contains("id") && call["id"].is_string() ? call["id"].get<std::string>() : "";
    QUERN_ASSIGN_OR_RETURN(parsed.name, GetString(function, "name", what));
    const auto arguments = function.find("arguments");
    if (arguments == function.end()) {
      parsed.arguments_json = "{}";
    } else {
      parsed.arguments_json = arguments->is_string() ? arguments->get<std::string>() : Dump(*arguments);
    }
    calls.push_back(std::move(parsed));
  }
  return calls;
}

// A string, null, or the array of text parts of the OpenAI API.
Result<std::string> ContentFromJson(const Json& content, std::string_view what) {
  if (content.is_null()) return std::string();
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return Fail(Code::kInvalidArgument, "{}: \"content\" must be a string", what);
  std::string text;
  for (const Json& part : content) {
    if (!part.is_object() || part.value("type", "") != "text") {
      return Fail(Code::kUnsupported, "{}: only text parts are understood", what);
    }
    QUERN_ASSIGN_OR_RETURN(const std::string piece, GetString(part, "text", what));
    text += piece;
  }
  return text;
}

}  // namespace

std::string_view NameOf(ChatRole role) {
  for (const auto& [value, name] : kRoles) {
    if (value == role) return name;
  }
  return "user";
}

Result<ChatMessage> MessageFromJson(const Json& json, std::string_view what) {
  if (!json.is_object()) return Fail(Code::kInvalidArgument, "{}: a message must be an object", what);
  QUERN_ASSIGN_OR_RETURN(const std::string role, GetString(json, "role", what));
  ChatMessage message;
  bool known = false;
  for (const auto& [value, name] : kRoles) {
    if (name != role) continue;
    message.role = value;
    known = true;
  }
  if (!known) return Fail(Code::kInvalidArgument, "{}: unknown role \"{}\"", what, role);
  if (json.contains("content")) {
    QUERN_ASSIGN_OR_RETURN(message.content, ContentFromJson(json["content"], what));
  }
  for (const auto& [key, field] : {std::pair<const char*, std::string*>{"thinking", &message.thinking},
                                   {"tool_call_id", &message.tool_call_id},
                                   {"name", &message.name}}) {
    if (!json.contains(key)) continue;
    QUERN_ASSIGN_OR_RETURN(*field, GetString(json, key, what));
  }
  if (json.contains("tool_calls")) {
    QUERN_ASSIGN_OR_RETURN(message.tool_calls, ToolCallsFromJson(json["tool_calls"], what));
  }
  return message;
}

Result<std::vector<ChatMessage>> MessagesFromJson(const Json& json, std::string_view what) {
  const Json* array = &json;
  if (json.is_object() && json.contains("messages")) array = &json["messages"];
  if (!array->is_array()) return Fail(Code::kInvalidArgument, "{}: expected an array of messages", what);
  std::vector<ChatMessage> messages;
  for (const Json& entry : *array) {
    QUERN_ASSIGN_OR_RETURN(ChatMessage message,
                           MessageFromJson(entry, fmt::format("{}: message {}", what, messages.size())));
    messages.push_back(std::move(message));
  }
  if (messages.empty()) return Fail(Code::kInvalidArgument, "{}: there is no message", what);
  return messages;
}

Json ToolCallsToJson(const std::vector<ChatToolCall>& calls) {
  Json json = Json::array();
  for (const ChatToolCall& call : calls) {
    json.push_back({{"id", call.id},
                    {"type", "function"},
                    {"function", {{"name", call.name}, {"arguments", call.arguments_json}}}});
  }
  return json;
}

Json ToJson(const ChatMessage& message) {
  Json json = {{"role", NameOf(message.role)}, {"content", message.content}};
  if (!message.thinking.empty()) json["thinking"] = message.thinking;
  if (!message.tool_calls.empty()) json["tool_calls"] = ToolCallsToJson(message.tool_calls);
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  if (!message.name.empty()) json["name"] = message.name;
  return json;
}

Json UsageJson(const GenerateStats& stats) {
  return {{"prompt_tokens", stats.prompt_tokens},
          {"cached_tokens", stats.cached_tokens},
          {"completion_tokens", stats.generated_tokens},
          {"thinking_tokens", stats.thinking_tokens},
          {"total_tokens", stats.prompt_tokens + stats.generated_tokens}};
}

double PromptRate(const GenerateStats& stats) {
  const auto evaluated = static_cast<double>(stats.prompt_tokens - stats.cached_tokens);
  return evaluated >= 2 && stats.prefill_seconds > 0 ? evaluated / stats.prefill_seconds : 0;
}

double DecodeRate(const GenerateStats& stats) {
  const auto steps = static_cast<double>(stats.generated_tokens - 1);
  return steps >= 1 && stats.decode_seconds > 0 ? steps / stats.decode_seconds : 0;
}

Json TimingsJson(const GenerateStats& stats) {
  return {{"prefill_seconds", stats.prefill_seconds},
          {"decode_seconds", stats.decode_seconds},
          {"first_token_seconds", stats.first_token_seconds},
          {"first_visible_seconds", stats.first_visible_seconds},
          {"prompt_tokens_per_second", PromptRate(stats)},
          {"tokens_per_second", DecodeRate(stats)},
          {"context_used", stats.context_used},
          {"context", stats.context},
          {"fallbacks", stats.num_fallbacks}};
}

}  // namespace quern::cli
