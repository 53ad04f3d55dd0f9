// Public chat types to those of the text room and back.
#pragma once

#include <span>
#include <vector>

#include "quern/chat.h"

#include "text/chat_format.h"

namespace quern::engine {

// InvalidArgument for tool arguments that are not a JSON object.
Result<std::vector<text::Message>> ToMessages(std::span<const ChatMessage> messages);
// Reads tools_json: OpenAI-style declarations ({"type":"function","function":{...}} or the inner object alone).
Result<text::RenderOptions> ToRenderOptions(const ChatOptions& options);
ChatToolCall FromToolCall(const text::ToolCall& call);

}  // namespace quern::engine
