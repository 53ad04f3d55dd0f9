// WriteGgufVocabulary: the tokenizer.ggml.* keys.
#include <algorithm>

#include "format/piece_type.h"
#include "format/vocabulary_writer.h"

namespace quern::format {
namespace {

// llama.cpp numbers <unk> as a control token in BPE files; "unknown" is a notion of score-based ones.
int32_t NumberOfPiece(const Vocabulary& vocabulary, size_t id) {
  const PieceType type = vocabulary.types[id];
  const bool is_bpe_unknown = type == PieceType::kUnknown && vocabulary.kind == VocabularyKind::kBpe;
  return NumberOf(is_bpe_unknown ? PieceType::kControl : type);
}

// "left right". The separator is found again as the first space behind the first byte, so a half cannot hold one.
Result<std::vector<std::string>> MergeTexts(const Vocabulary& vocabulary) {
  std::vector<std::string> texts;
  texts.reserve(vocabulary.merges.size());
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const auto& [left, right] = vocabulary.merges[rank];
    if (left.empty() || right.empty() || left.find(' ', 1) != std::string::npos) {
      return Fail(Code::kUnsupported, "merge {} has a half that is empty or holds a space, which GGUF cannot say",
                  rank);
    }
    texts.push_back(left + " " + right);
  }
  return texts;
}

void WriteIds(const Vocabulary& vocabulary, GgufWriter* writer) {
  const auto set = [&](std::string_view key, const std::optional<int32_t>& id) {
    if (id) writer->SetUint32(key, static_cast<uint32_t>(*id));
  };
  set("tokenizer.ggml.bos_token_id", vocabulary.bos);
  set("tokenizer.ggml.eos_token_id", vocabulary.eos);
  set("tokenizer.ggml.eot_token_id", vocabulary.eot);
  set("tokenizer.ggml.unknown_token_id", vocabulary.unk);
  set("tokenizer.ggml.padding_token_id", vocabulary.pad);
  const auto mask = std::ranges::find(vocabulary.pieces, "<mask>");
  if (mask != vocabulary.pieces.end()) {
    set("tokenizer.ggml.mask_token_id", static_cast<int32_t>(mask - vocabulary.pieces.begin()));
  }
  if (!vocabulary.suppress.empty()) writer->SetInt32s("tokenizer.ggml.suppress_tokens", vocabulary.suppress);
}

}  // namespace

Status WriteGgufVocabulary(const Vocabulary& vocabulary, GgufWriter* writer) {
  if (vocabulary.kind == VocabularyKind::kViterbi) {
    return Fail(Code::kUnsupported, "a unigram language model has no form in the GGUF files of these models");
  }
  const bool is_bpe = vocabulary.kind == VocabularyKind::kBpe;
  const size_t num_pieces = vocabulary.pieces.size();
  writer->SetString("tokenizer.ggml.model", is_bpe ? "gemma4" : "llama");
  if (!is_bpe) writer->SetString("tokenizer.ggml.pre", "default");
  writer->SetStrings("tokenizer.ggml.tokens",
                     std::vector<std::string_view>(vocabulary.pieces.begin(), vocabulary.pieces.end()));
  constexpr float kNoScore = -1000.0f;
  writer->SetFloat32s("tokenizer.ggml.scores", is_bpe ? std::vector<float>(num_pieces, kNoScore) : vocabulary.scores);
  std::vector<int32_t> types(num_pieces);
  for (size_t id = 0; id < num_pieces; ++id) types[id] = NumberOfPiece(vocabulary, id);
  writer->SetInt32s("tokenizer.ggml.token_type", types);
  if (is_bpe) {
    QUERN_ASSIGN_OR_RETURN(const std::vector<std::string> merges, MergeTexts(vocabulary));
    writer->SetStrings("tokenizer.ggml.merges", std::vector<std::string_view>(merges.begin(), merges.end()));
  }
  WriteIds(vocabulary, writer);
  if (!vocabulary.chat_template.empty()) writer->SetString("tokenizer.chat_template", vocabulary.chat_template);
  writer->SetBool("tokenizer.ggml.add_space_prefix", vocabulary.add_space_prefix);
  writer->SetBool("tokenizer.ggml.add_bos_token", vocabulary.add_bos);
  if (vocabulary.add_eos) writer->SetBool("tokenizer.ggml.add_eos_token", true);
  return {};
}

}  // namespace quern::format
