// Prompts: a request's messages, text or ids to the tokens the model reads. One rule for every door.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "quern/chat.h"
#include "quern/generate.h"

#include "text/chat_format.h"
#include "text/tokenizer.h"

namespace quern::engine {

// Tokens of raw text; one <bos> in front when the vocabulary wants it and the text's tokens do not begin with it.
std::vector<TokenId> EncodeText(const text::Tokenizer& tokenizer, std::string_view text, bool parse_special,
                                bool add_bos);

// A rendered conversation. `format` may be null: Unsupported with `refusal`.
Result<std::vector<text::PromptPiece>> RenderChat(const text::ChatFormat* format, std::string_view refusal,
                                                  std::span<const ChatMessage> messages, const ChatOptions& options);
// Its tokens.
Result<std::vector<TokenId>> EncodeChat(const text::ChatFormat* format, std::string_view refusal,
                                        std::span<const ChatMessage> messages, const ChatOptions& options);

}  // namespace quern::engine
