#include "engine/chat_mapping.h"

namespace quern::engine {
namespace {

text::Role ToRole(ChatRole role) {
  switch (role) {
    case ChatRole::kSystem:
      return text::Role::kSystem;
    case ChatRole::kDeveloper:
      return text::Role::kDeveloper;
    case ChatRole::kUser:
      return text::Role::kUser;
    case ChatRole::kAssistant:
      return text::Role::kAssistant;
    case ChatRole::kTool:
      return text::Role::kTool;
  }
  return text::Role::kUser;
}

Result<text::ToolDeclaration> ToTool(const Json& item, size_t index) {
  const Json* function = &item;
  if (item.is_object() && item.contains("function")) function = &item["function"];
  if (!function->is_object() || !function->contains("name") || !(*function)["name"].is_string()) {
    return Fail(Code::kInvalidArgument, "tools[{}]: \"name\" is missing or not a string", index);
  }
  text::ToolDeclaration tool;
  tool.name = (*function)["name"].get<std::string>();
  if (function->contains("description")) {
    if (!(*function)["description"].is_string())
      return Fail(Code::kInvalidArgument, "tools[{}]: \"description\" is not a string", index);
    tool.description = (*function)["description"].get<std::string>();
  }
  tool.parameters = function->contains("parameters") ? (*function)["parameters"] : Json::object();
  if (!tool.parameters.is_object())
    return Fail(Code::kInvalidArgument, "tools[{}]: \"parameters\" is not an object", index);
  return tool;
}

}  // namespace

Result<std::vector<text::Message>> ToMessages(std::span<const ChatMessage> messages) {
  std::vector<text::Message> result;
  for (const ChatMessage& message : messages) {
    text::Message out;
    out.role = ToRole(message.role);
    out.content = message.content;
    out.reasoning = message.thinking;
    out.tool_call_id = message.tool_call_id;
    out.name = message.name;
    // A tool answer that is a JSON object is rendered by its keys, as the templates do with a mapping.
    if (message.role == ChatRole::kTool) {
      if (Result<Json> answer = ParseJson(message.content, "tool answer"); answer && answer->is_object())
        out.response = std::move(*answer);
    }
    for (const ChatToolCall& call : message.tool_calls) {
      Result<Json> arguments =
          ParseJson(call.arguments_json.empty() ? "{}" : call.arguments_json, "tool call arguments");
      if (!arguments) return Fail(Code::kInvalidArgument, "tool call {}: {}", call.name, arguments.error().message);
      if (!arguments->is_object())
        return Fail(Code::kInvalidArgument, "tool call {}: the arguments are not a JSON object", call.name);
      out.tool_calls.push_back({call.id, call.name, std::move(*arguments)});
    }
    result.push_back(std::move(out));
  }
  return result;
}

Result<text::RenderOptions> ToRenderOptions(const ChatOptions& options) {
  text::RenderOptions result;
  result.thinking = options.think == ThinkMode::kOn ? text::Thinking::kOn : text::Thinking::kOff;
  if (options.tools_json.empty()) return result;
  Result<Json> tools = ParseJson(options.tools_json, "tools");
  if (!tools) return Fail(Code::kInvalidArgument, "{}", tools.error().message);
  if (!tools->is_array()) return Fail(Code::kInvalidArgument, "tools: expected a JSON array");
  for (size_t i = 0; i < tools->size(); ++i) {
    QUERN_ASSIGN_OR_RETURN(text::ToolDeclaration tool, ToTool((*tools)[i], i));
    result.tools.push_back(std::move(tool));
  }
  return result;
}

ChatToolCall FromToolCall(const text::ToolCall& call) {
  return {call.id, call.name, call.arguments.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace quern::engine
