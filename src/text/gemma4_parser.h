// The state machine over Gemma 4's output tokens: channels, answer text, tool calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/chat_format.h"

namespace quern::text {

// `tools`: names of the declared tools, which a call without its start token is recognised by.
// `inside_thought`: the prompt has opened the thought channel.
std::unique_ptr<OutputParser> MakeGemma4Parser(std::shared_ptr<const Tokenizer> tokenizer,
                                               std::vector<std::string> tools, bool inside_thought);

}  // namespace quern::text
