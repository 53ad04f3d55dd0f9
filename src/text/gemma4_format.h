// The Gemma 4 chat format: turns, thinking, tools. docs/chat-formats.md shows the layout.
#pragma once

#include "text/chat_format.h"

namespace quern::text {

// The tokenizer has <bos> and both turn markers.
Result<std::unique_ptr<ChatFormat>> MakeGemma4Format(std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace quern::text
