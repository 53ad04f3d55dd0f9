// ReadGgufVocabulary: the tokenizer.ggml.* keys.
#include <limits>
#include <string_view>
#include <utility>

#include "format/piece_type.h"
#include "format/quoted.h"
#include "format/tokenizer_json_parser.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

Result<VocabularyKind> ReadKind(const GgufFile& file) {
  QUERN_ASSIGN_OR_RETURN(const std::optional<std::string> model, file.GetString("tokenizer.ggml.model"));
  if (!model) {
    return WithHint(Fail(Code::kNotFound, "the file has no tokenizer: tokenizer.ggml.model is missing"),
                    "it may be an adapter or a projector; name the file of the whole model");
  }
  if (*model != "gemma4" && *model != "llama") {
    return Fail(Code::kUnsupported, "tokenizer.ggml.model {} is not supported; gemma4 and llama are", Quoted(*model));
  }
  // Only "default" means the splitting that these two models have by themselves.
  QUERN_ASSIGN_OR_RETURN(const std::optional<std::string> pre, file.GetString("tokenizer.ggml.pre"));
  if (pre && *pre != "default" && *pre != *model) {
    return Fail(Code::kUnsupported, "tokenizer.ggml.pre {} is not supported", Quoted(*pre));
  }
  QUERN_ASSIGN_OR_RETURN(const std::optional<bool> collapse, file.GetBool("tokenizer.ggml.remove_extra_whitespaces"));
  if (collapse.value_or(false)) {
    return Fail(Code::kUnsupported, "tokenizer.ggml.remove_extra_whitespaces is not supported");
  }
  return *model == "gemma4" ? VocabularyKind::kBpe : VocabularyKind::kUnigram;
}

Status ReadPieces(const GgufFile& file, Vocabulary* vocabulary) {
  QUERN_ASSIGN_OR_RETURN(const auto tokens, file.GetStrings("tokenizer.ggml.tokens"));
  if (!tokens || tokens->empty()) return Fail(Code::kCorrupt, "tokenizer.ggml.tokens is missing or empty");
  if (tokens->size() > size_t{std::numeric_limits<int32_t>::max()}) {
    return Fail(Code::kCorrupt, "tokenizer.ggml.tokens has {} entries; ids have 31 bits", tokens->size());
  }
  vocabulary->pieces.assign(tokens->begin(), tokens->end());
  return {};
}

Status ReadTypes(const GgufFile& file, Vocabulary* vocabulary) {
  const size_t num_pieces = vocabulary->pieces.size();
  vocabulary->types.assign(num_pieces, PieceType::kNormal);
  QUERN_ASSIGN_OR_RETURN(const auto numbers, file.GetInts("tokenizer.ggml.token_type"));
  if (!numbers) return {};
  if (numbers->size() != num_pieces) {
    return Fail(Code::kCorrupt, "tokenizer.ggml.token_type has {} entries for {} tokens", numbers->size(), num_pieces);
  }
  for (size_t id = 0; id < num_pieces; ++id) {
    const int64_t number = (*numbers)[id];
    // 0 ("undefined") occurs in old files.
    const std::optional<PieceType> type = number == 0 ? PieceType::kNormal : PieceTypeOfNumber(number);
    if (!type) return Fail(Code::kCorrupt, "tokenizer.ggml.token_type holds {}; 0 to 6 exist", number);
    vocabulary->types[id] = *type;
  }
  return {};
}

Status ReadScores(const GgufFile& file, Vocabulary* vocabulary) {
  QUERN_ASSIGN_OR_RETURN(const auto scores, file.GetFloats("tokenizer.ggml.scores"));
  const size_t num_pieces = vocabulary->pieces.size();
  if (!scores || scores->size() != num_pieces) {
    return Fail(Code::kCorrupt, "tokenizer.ggml.scores has {} entries for {} tokens", scores ? scores->size() : 0,
                num_pieces);
  }
  vocabulary->scores.assign(scores->begin(), scores->end());
  return {};
}

Status ReadMerges(const GgufFile& file, Vocabulary* vocabulary) {
  QUERN_ASSIGN_OR_RETURN(const auto merges, file.GetStrings("tokenizer.ggml.merges"));
  if (!merges) return Fail(Code::kCorrupt, "tokenizer.ggml.merges is missing");
  vocabulary->merges.resize(merges->size());
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    if (!SplitMerge((*merges)[rank], &vocabulary->merges[rank])) {
      return Fail(Code::kCorrupt, "tokenizer.ggml.merges[{}] {} has no space between two halves", rank,
                  Quoted((*merges)[rank]));
    }
  }
  return {};
}

Status ReadIds(const GgufFile& file, Vocabulary* vocabulary) {
  struct Named {
    std::string_view key;
    std::optional<int32_t>* id;
  };
  const Named declared[] = {{"tokenizer.ggml.bos_token_id", &vocabulary->bos},
                            {"tokenizer.ggml.eos_token_id", &vocabulary->eos},
                            {"tokenizer.ggml.eot_token_id", &vocabulary->eot},
                            {"tokenizer.ggml.unknown_token_id", &vocabulary->unk},
                            {"tokenizer.ggml.padding_token_id", &vocabulary->pad}};
  const auto narrow = [](std::string_view key, int64_t id) -> Result<int32_t> {
    if (std::in_range<int32_t>(id)) return static_cast<int32_t>(id);
    return Fail(Code::kCorrupt, "{} is {}, which is no token id", key, id);
  };
  for (const Named& token : declared) {
    QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> id, file.GetInt(token.key));
    if (!id) continue;
    QUERN_ASSIGN_OR_RETURN(*token.id, narrow(token.key, *id));
  }
  constexpr std::string_view kSuppress = "tokenizer.ggml.suppress_tokens";
  QUERN_ASSIGN_OR_RETURN(const auto suppressed, file.GetInts(kSuppress));
  if (!suppressed) return {};
  for (const int64_t id : *suppressed) {
    QUERN_ASSIGN_OR_RETURN(const int32_t token, narrow(kSuppress, id));
    vocabulary->suppress.push_back(token);
  }
  return {};
}

Status ReadFlags(const GgufFile& file, Vocabulary* vocabulary) {
  QUERN_ASSIGN_OR_RETURN(const std::optional<bool> add_bos, file.GetBool("tokenizer.ggml.add_bos_token"));
  QUERN_ASSIGN_OR_RETURN(const std::optional<bool> add_eos, file.GetBool("tokenizer.ggml.add_eos_token"));
  QUERN_ASSIGN_OR_RETURN(const std::optional<bool> prefix, file.GetBool("tokenizer.ggml.add_space_prefix"));
  vocabulary->add_bos = add_bos.value_or(true);
  vocabulary->add_eos = add_eos.value_or(false);
  vocabulary->add_space_prefix = prefix.value_or(vocabulary->kind == VocabularyKind::kUnigram);
  QUERN_ASSIGN_OR_RETURN(const std::optional<std::string> chat_template, file.GetString("tokenizer.chat_template"));
  vocabulary->chat_template = chat_template.value_or("");
  return {};
}

}  // namespace

Result<Vocabulary> ReadGgufVocabulary(const GgufFile& file) {
  Vocabulary vocabulary;
  QUERN_ASSIGN_OR_RETURN(vocabulary.kind, ReadKind(file));
  QUERN_TRY(ReadPieces(file, &vocabulary));
  QUERN_TRY(ReadTypes(file, &vocabulary));
  QUERN_TRY(vocabulary.kind == VocabularyKind::kBpe ? ReadMerges(file, &vocabulary) : ReadScores(file, &vocabulary));
  QUERN_TRY(ReadIds(file, &vocabulary));
  QUERN_TRY(ReadFlags(file, &vocabulary));
  QUERN_TRY(CheckDeclaredIds(vocabulary));
  MendTypes(&vocabulary);
  return vocabulary;
}

}  // namespace quern::format
