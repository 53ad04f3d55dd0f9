// TextModel: tokenizer and chat format without weights.
#include "quern/tokenize.h"

#include "engine/model_impl.h"
#include "engine/prompt.h"
#include "text/stream_decoder.h"

namespace quern {
namespace {

class LoadedTextModel final : public TextModel {
 public:
  explicit LoadedTextModel(engine::TextParts parts) : parts_(std::move(parts)) {}

  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options) const override {
    return engine::EncodeText(*parts_.tokenizer, text, options.parse_special, options.add_bos);
  }
  Result<std::vector<TokenId>> EncodeChat(std::span<const ChatMessage> messages,
                                          const ChatOptions& options) const override {
    return engine::EncodeChat(parts_.chat_format.get(), parts_.chat_refusal, messages, options);
  }
  Result<std::string> RenderChat(std::span<const ChatMessage> messages, const ChatOptions& options) const override {
    QUERN_ASSIGN_OR_RETURN(const std::vector<text::PromptPiece> pieces,
                           engine::RenderChat(parts_.chat_format.get(), parts_.chat_refusal, messages, options));
    return text::ChatFormat::ToText(pieces);
  }
  Result<std::string> Decode(std::span<const TokenId> ids, bool show_special) const override {
    for (const TokenId id : ids) {
      if (id < 0 || id >= vocab_size()) {
        return Fail(Code::kInvalidArgument, "token id {} is outside the vocabulary of {}", id, vocab_size());
      }
    }
    text::StreamDecoder decoder;
    std::string text = decoder.Push(parts_.tokenizer->Decode(ids, show_special));
    return text + decoder.Flush();
  }
  std::string Piece(TokenId id) const override { return std::string(parts_.tokenizer->Piece(id)); }
  int vocab_size() const override { return parts_.tokenizer->size(); }

 private:
  engine::TextParts parts_;
};

}  // namespace

Result<std::shared_ptr<const TextModel>> TextModel::Load(const ModelFile& file) {
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(file.path));
  QUERN_ASSIGN_OR_RETURN(const models::GenerationDefaults defaults, models::ReadGenerationDefaults(checkpoint));
  QUERN_ASSIGN_OR_RETURN(engine::TextParts parts, engine::LoadText(checkpoint, defaults));
  return std::shared_ptr<const TextModel>(std::make_shared<LoadedTextModel>(std::move(parts)));
}

}  // namespace quern
