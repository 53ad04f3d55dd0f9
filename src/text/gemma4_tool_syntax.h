// Gemma 4's notation of tools: declarations, calls and answers, written in a form of its own in which a string stands
// between two <|"|> tokens, keys are bare and objects are sorted by key without regard to case.
#pragma once

#include "text/chat_format.h"
#include "text/prompt_builder.h"

namespace quern::text {

// <|tool>declaration:NAME{...}<tool|>
void RenderDeclaration(const ToolDeclaration& tool, PromptBuilder* out);
// <|tool_call>call:NAME{...}<tool_call|>; arguments must be an object or null.
void RenderCall(const ToolCall& call, PromptBuilder* out);
// <|tool_response>response:NAME{...}<tool_response|>; anything but an object becomes {value:...}.
void RenderAnswer(std::string_view name, const Json& answer, PromptBuilder* out);

}  // namespace quern::text
