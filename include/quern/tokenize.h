// Tokenizing without loading weights: what `quern tokenize` and `quern detokenize` print.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/chat.h"
#include "quern/error.h"
#include "quern/model.h"

namespace quern {

// A model's tokenizer and chat format alone. Immutable: any thread may use it.
class TextModel {
 public:
  static Result<std::shared_ptr<const TextModel>> Load(const ModelFile& file);
  virtual ~TextModel() = default;

  struct EncodeOptions {
    bool parse_special = false;  // recognise special tokens in the text
    bool add_bos = true;         // one <bos> in front when the vocabulary wants it and the text does not begin with it
  };
  virtual std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options) const = 0;
  // The tokens of a rendered conversation; Unsupported when the model has no chat format.
  virtual Result<std::vector<TokenId>> EncodeChat(std::span<const ChatMessage> messages,
                                                  const ChatOptions& options) const = 0;
  virtual Result<std::string> RenderChat(std::span<const ChatMessage> messages, const ChatOptions& options) const = 0;
  // Repaired UTF-8; special tokens are shown by name when asked. InvalidArgument for an id outside the vocabulary.
  virtual Result<std::string> Decode(std::span<const TokenId> ids, bool show_special) const = 0;
  virtual std::string Piece(TokenId id) const = 0;
  virtual int vocab_size() const = 0;
};

}  // namespace quern
