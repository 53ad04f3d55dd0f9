#include "text/chat_format.h"

#include "text/gemma3_format.h"
#include "text/gemma4_format.h"

namespace quern::text {

std::string ChatFormat::ToText(std::span<const PromptPiece> pieces) {
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

std::vector<TokenId> ChatFormat::Encode(std::span<const PromptPiece> pieces) const {
  std::vector<TokenId> ids;
  std::string run;  // BPE must see neighbouring text as one
  for (const PromptPiece& piece : pieces) {
    const std::optional<TokenId> marker = piece.is_marker ? tokenizer_->Find(piece.text) : std::nullopt;
    if (!marker) {
      run += piece.text;
      continue;
    }
    tokenizer_->Encode(run, ParseSpecial::kNo, &ids);
    run.clear();
    ids.push_back(*marker);
  }
  tokenizer_->Encode(run, ParseSpecial::kNo, &ids);
  return ids;
}

bool EndsInsideChannel(std::span<const PromptPiece> prompt) {
  for (size_t i = prompt.size(); i > 0; --i) {
    const PromptPiece& piece = prompt[i - 1];
    if (!piece.is_marker) continue;
    if (piece.text == "<|channel>") return true;
    if (piece.text == "<channel|>" || piece.text == "<|turn>" || piece.text == "<turn|>") return false;
  }
  return false;
}

Result<std::unique_ptr<ChatFormat>> MakeChatFormat(std::shared_ptr<const Tokenizer> tokenizer) {
  const SpecialIds& special = tokenizer->special();
  if (special.bos && special.turn_open && special.turn_close) return MakeGemma4Format(std::move(tokenizer));
  if (special.bos && special.start_of_turn && special.end_of_turn) return MakeGemma3Format(std::move(tokenizer));
  return WithHint(Fail(Code::kUnsupported,
                       "the vocabulary has no turn markers (<|turn> or <start_of_turn>): this is a "
                       "base model without a chat format"),
                  "give it plain text instead of messages, or use the instruction-tuned (-it) model");
}

}  // namespace quern::text
