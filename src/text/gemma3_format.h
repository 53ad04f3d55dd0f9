// The Gemma 3 chat format: alternating turns, no system role of its own, no tools, no thinking.
#pragma once

#include "text/chat_format.h"

namespace quern::text {

// The tokenizer has <bos> and both turn markers of Gemma 3.
Result<std::unique_ptr<ChatFormat>> MakeGemma3Format(std::shared_ptr<const Tokenizer> tokenizer);

}  // namespace quern::text
