#include "engine/prompt.h"

#include "engine/chat_mapping.h"

namespace quern::engine {

std::vector<TokenId> EncodeText(const text::Tokenizer& tokenizer, std::string_view text, bool parse_special,
                                bool add_bos) {
  std::vector<TokenId> ids = tokenizer.Encode(text, parse_special ? text::ParseSpecial::kYes : text::ParseSpecial::kNo);
  const std::optional<TokenId> bos = tokenizer.special().bos;
  if (add_bos && bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

Result<std::vector<text::PromptPiece>> RenderChat(const text::ChatFormat* format, std::string_view refusal,
                                                  std::span<const ChatMessage> messages, const ChatOptions& options) {
  if (format == nullptr) {
    return WithHint(Fail(Code::kUnsupported, "this model has no chat format: {}", refusal),
                    "give a raw prompt (--raw)");
  }
  QUERN_ASSIGN_OR_RETURN(const std::vector<text::Message> mapped, ToMessages(messages));
  QUERN_ASSIGN_OR_RETURN(const text::RenderOptions render, ToRenderOptions(options));
  return format->Render(mapped, render);
}

Result<std::vector<TokenId>> EncodeChat(const text::ChatFormat* format, std::string_view refusal,
                                        std::span<const ChatMessage> messages, const ChatOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const std::vector<text::PromptPiece> pieces, RenderChat(format, refusal, messages, options));
  return format->Encode(pieces);
}

}  // namespace quern::engine
