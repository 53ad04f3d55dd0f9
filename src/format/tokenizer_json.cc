// ReadTokenizerJson: which tokenizers of the Hugging Face library are understood. The file describes a pipeline of
// nodes (normalizer, pre_tokenizer, model, post_processor, decoder); each node is either known here or refused by name,
// so that no text is ever encoded by a pipeline other than the one the file asks for.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/file.h"
#include "format/piece_type.h"
#include "format/quoted.h"
#include "format/tokenizer_config.h"
#include "format/tokenizer_json_parser.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

constexpr size_t kMaxTokenizerBytes = size_t{256} << 20;
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // "▁", U+2581

// node[key], or null when node is no object or has no such key.
const Json& At(const Json& node, std::string_view key) {
  static const Json kNull;
  if (!node.is_object()) return kNull;
  const auto found = node.find(key);
  return found == node.end() ? kNull : *found;
}

std::string_view TypeOf(const Json& node) {
  const Json& type = At(node, "type");
  return type.is_string() ? std::string_view(type.get_ref<const std::string&>()) : std::string_view();
}

tl::unexpected<Error> Unknown(std::string_view part, const Json& node) {
  return Fail(Code::kUnsupported, "{} {} is not supported in this form", part, Quoted(TypeOf(node)));
}

// The nodes of a Sequence, or the node itself; none for null.
std::vector<const Json*> Steps(const Json& node, std::string_view list_key) {
  if (node.is_null()) return {};
  const Json& list = At(node, list_key);
  if (TypeOf(node) != "Sequence" || !list.is_array()) return {&node};
  std::vector<const Json*> steps;
  for (const Json& step : list) steps.push_back(&step);
  return steps;
}

bool IsReplace(const Json& node, std::string_view from, std::string_view to) {
  return TypeOf(node) == "Replace" && At(At(node, "pattern"), "String") == from && At(node, "content") == to;
}

// Spaces become "▁", perhaps after a "▁" is put in front; nothing else. Metaspace does both before splitting.
Status ReadNormalizer(const Json& tree, Vocabulary* vocabulary) {
  bool marks_spaces = false;
  for (const Json* step : Steps(At(tree, "normalizer"), "normalizers")) {
    if (IsReplace(*step, " ", kSpaceMark)) {
      marks_spaces = true;
    } else if (TypeOf(*step) == "Prepend" && At(*step, "prepend") == kSpaceMark && !marks_spaces) {
      vocabulary->add_space_prefix = true;
    } else {
      return Unknown("normalizer", *step);
    }
  }
  for (const Json* step : Steps(At(tree, "pre_tokenizer"), "pretokenizers")) {
    // A split on spaces never splits once the normalizer has replaced them all.
    if (TypeOf(*step) == "Split" && At(At(*step, "pattern"), "String") == " " && marks_spaces) continue;
    const Json& prepend = At(*step, "prepend_scheme");
    const bool known_prepend = prepend == "always" || prepend == "never";
    if (TypeOf(*step) != "Metaspace" || At(*step, "replacement") != kSpaceMark || !known_prepend || marks_spaces) {
      return Unknown("pre_tokenizer", *step);
    }
    if (vocabulary->kind == VocabularyKind::kBpe && At(*step, "split") != false) return Unknown("pre_tokenizer", *step);
    marks_spaces = true;
    vocabulary->add_space_prefix = prepend == "always";
  }
  if (!marks_spaces)
    return Fail(Code::kUnsupported, "a tokenizer that does not turn spaces into \"▁\" is not supported");
  return {};
}

Status ReadDecoder(const Json& tree) {
  for (const Json* step : Steps(At(tree, "decoder"), "decoders")) {
    const std::string_view type = TypeOf(*step);
    const bool is_known = IsReplace(*step, kSpaceMark, " ") || type == "ByteFallback" || type == "Fuse" ||
                          (type == "Metaspace" && At(*step, "replacement") == kSpaceMark) ||
                          (type == "Strip" && At(*step, "content") == " ");
    if (!is_known) return Unknown("decoder", *step);
  }
  return {};
}

// The id that a template step names, when it is a special token of the template.
std::optional<int32_t> TemplateId(const Json& post_processor, const Json& step) {
  const Json& name = At(At(step, "SpecialToken"), "id");
  if (!name.is_string()) return std::nullopt;
  const Json& ids = At(At(At(post_processor, "special_tokens"), name.get_ref<const std::string&>()), "ids");
  if (!ids.is_array() || ids.size() != 1 || !ids[0].is_number_unsigned()) return std::nullopt;
  const auto id = ids[0].get<uint64_t>();
  if (id > uint64_t{std::numeric_limits<int32_t>::max()}) return std::nullopt;
  return static_cast<int32_t>(id);
}

// TemplateProcessing of a single text: at most one token before and one behind it.
Status ReadPostProcessor(const Json& tree, Vocabulary* vocabulary) {
  const Json& node = At(tree, "post_processor");
  if (node.is_null()) return {};
  const Json& single = At(node, "single");
  if (TypeOf(node) != "TemplateProcessing" || !single.is_array()) return Unknown("post_processor", node);
  const auto text = std::ranges::find_if(single, [](const Json& step) { return At(step, "Sequence").is_object(); });
  const auto before = text - single.begin();
  const auto behind = single.end() - text - 1;
  if (text == single.end() || before > 1 || behind > 1) return Unknown("post_processor", node);
  if (before == 1) {
    vocabulary->bos = TemplateId(node, single.front());
    if (!vocabulary->bos) return Unknown("post_processor", node);
    vocabulary->add_bos = true;
  }
  if (behind == 1) {
    vocabulary->eos = TemplateId(node, single.back());
    if (!vocabulary->eos) return Unknown("post_processor", node);
    vocabulary->add_eos = true;
  }
  return {};
}

bool IsAbsentOrEmpty(const Json& value) { return value.is_null() || value == ""; }

Status ReadBpeModel(const Json& model, Vocabulary* vocabulary) {
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!IsAbsentOrEmpty(At(model, key))) return Fail(Code::kUnsupported, "model.{} is not supported", key);
  }
  const Json& dropout = At(model, "dropout");
  if (!dropout.is_null() && dropout != 0) return Fail(Code::kUnsupported, "model.dropout is not supported");
  if (At(model, "byte_fallback") != true)
    return Fail(Code::kUnsupported, "a BPE model without byte_fallback is not supported");
  const Json& ignore_merges = At(model, "ignore_merges");
  if (!ignore_merges.is_null() && ignore_merges != false)
    return Fail(Code::kUnsupported, "model.ignore_merges is not supported");
  const Json& unk = At(model, "unk_token");
  if (unk.is_null()) return {};
  const auto found = unk.is_string() ? std::ranges::find(vocabulary->pieces, unk.get_ref<const std::string&>())
                                     : vocabulary->pieces.end();
  if (found == vocabulary->pieces.end()) return Fail(Code::kCorrupt, "model.unk_token is not in model.vocab");
  vocabulary->unk = static_cast<int32_t>(found - vocabulary->pieces.begin());
  return {};
}

Status ReadUnigramModel(const Json& model, Vocabulary* vocabulary) {
  const Json& unk_id = At(model, "unk_id");
  if (unk_id.is_null()) return {};
  if (!unk_id.is_number_unsigned() || unk_id.get<uint64_t>() >= vocabulary->pieces.size()) {
    return Fail(Code::kCorrupt, "model.unk_id is not an id of model.vocab");
  }
  vocabulary->unk = unk_id.get<int32_t>();
  return {};
}

struct AddedToken {
  uint64_t id = 0;
  std::string content;
  bool is_special = false;
};

Result<AddedToken> ReadAddedToken(const Json& entry) {
  const Json& id = At(entry, "id");
  const Json& content = At(entry, "content");
  const Json& special = At(entry, "special");
  if (!id.is_number_unsigned() || !content.is_string() || !special.is_boolean()) {
    return Fail(Code::kCorrupt, "an entry of added_tokens lacks id, content or special");
  }
  const auto& text = content.get_ref<const std::string&>();
  for (const std::string_view key : {"single_word", "lstrip", "rstrip"}) {
    const Json& flag = At(entry, key);
    if (!flag.is_null() && flag != false) {
      return Fail(Code::kUnsupported, "added token {} with {} is not supported", Quoted(text), key);
    }
  }
  return AddedToken{id.get<uint64_t>(), text, special.get<bool>()};
}

// Added tokens name pieces of the model again or continue its ids.
Status ReadAddedTokens(const Json& tree, TokenizerJson* parsed, Vocabulary* vocabulary) {
  const Json& entries = At(tree, "added_tokens");
  if (entries.is_null()) return {};
  if (!entries.is_array()) return Fail(Code::kCorrupt, "added_tokens is not an array");
  for (const Json& entry : entries) {
    QUERN_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(entry));
    auto& pieces = vocabulary->pieces;
    // One entry adds at most one id beyond those there: a file cannot ask for more memory than it has entries.
    if (token.id > pieces.size() + entries.size()) {
      return Fail(Code::kCorrupt, "added token {} has id {} behind a vocabulary of {} pieces", Quoted(token.content),
                  token.id, pieces.size());
    }
    if (token.id >= pieces.size()) {
      pieces.resize(token.id + 1);
      parsed->present.resize(token.id + 1);
      vocabulary->types.resize(token.id + 1, PieceType::kUnused);
    }
    if (parsed->present[token.id] && pieces[token.id] != token.content) {
      return Fail(Code::kCorrupt, "id {} is {} in model.vocab and {} in added_tokens", token.id,
                  Quoted(pieces[token.id]), Quoted(token.content));
    }
    parsed->present[token.id] = true;
    pieces[token.id] = std::move(token.content);
    vocabulary->types[token.id] = token.is_special ? PieceType::kControl : PieceType::kUserDefined;
  }
  return {};
}

Status ReadModel(const Json& tree, TokenizerJson* parsed, Vocabulary* vocabulary) {
  const Json& model = At(tree, "model");
  const std::string_view type = TypeOf(model);
  if (type != "BPE" && type != "Unigram") {
    return Fail(Code::kUnsupported, "model type {} is not supported; BPE and Unigram are", Quoted(type));
  }
  const bool is_bpe = type == "BPE";
  // Scores exist exactly when vocab is an array of pairs, which is how Unigram writes it.
  if (parsed->num_pieces == 0 || is_bpe != parsed->scores.empty()) {
    return Fail(Code::kCorrupt, "model.vocab is missing, empty or not of the form that {} has", type);
  }
  // Published vocabularies leave a few ids free where a string would occur twice; more is a broken file.
  if (parsed->pieces.size() > 2 * parsed->num_pieces) {
    return Fail(Code::kCorrupt, "model.vocab has {} pieces but ids up to {}", parsed->num_pieces,
                parsed->pieces.size() - 1);
  }
  vocabulary->kind = is_bpe ? VocabularyKind::kBpe : VocabularyKind::kViterbi;
  vocabulary->pieces = std::move(parsed->pieces);
  vocabulary->types.resize(vocabulary->pieces.size(), PieceType::kNormal);
  if (is_bpe) {
    vocabulary->merges = std::move(parsed->merges);
    return ReadBpeModel(model, vocabulary);
  }
  vocabulary->scores = std::move(parsed->scores);
  return ReadUnigramModel(model, vocabulary);
}

Result<Vocabulary> Read(TokenizerJson parsed, std::string_view tokenizer_config) {
  const Json tree = std::move(parsed.tree);
  Vocabulary vocabulary;
  if (!tree.is_object()) return Fail(Code::kCorrupt, "the top value is not an object");
  QUERN_TRY(ReadModel(tree, &parsed, &vocabulary));
  QUERN_TRY(ReadAddedTokens(tree, &parsed, &vocabulary));
  for (size_t id = 0; id < vocabulary.types.size(); ++id) {
    if (!parsed.present[id]) vocabulary.types[id] = PieceType::kUnused;
  }
  if (!vocabulary.scores.empty()) vocabulary.scores.resize(vocabulary.pieces.size(), 0.0f);
  QUERN_TRY(ReadNormalizer(tree, &vocabulary));
  QUERN_TRY(ReadDecoder(tree));
  QUERN_TRY(ReadPostProcessor(tree, &vocabulary));
  QUERN_TRY(CheckDeclaredIds(vocabulary));
  MendTypes(&vocabulary);
  QUERN_TRY(ApplyTokenizerConfig(tokenizer_config, &vocabulary));
  return vocabulary;
}

}  // namespace

Result<Vocabulary> ParseTokenizerJson(std::string_view tokenizer, std::string_view tokenizer_config,
                                      std::string_view what) {
  QUERN_ASSIGN_OR_RETURN(TokenizerJson parsed, ParseTokenizerJsonText(tokenizer, what));
  Result<Vocabulary> vocabulary = Read(std::move(parsed), tokenizer_config);
  if (!vocabulary) return WithFrame(std::move(vocabulary).error(), std::string(what));
  return vocabulary;
}

Result<Vocabulary> ReadTokenizerJson(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const auto mapped, MappedFile::Open(path));
  const std::span<const std::byte> bytes = mapped->bytes();
  if (bytes.size() > kMaxTokenizerBytes) {
    return Fail(Code::kResourceExhausted, "{} has {} bytes; the limit for a tokenizer.json is {}", path.string(),
                bytes.size(), kMaxTokenizerBytes);
  }
  QUERN_ASSIGN_OR_RETURN(const std::string config, ReadIfPresent(path.parent_path() / "tokenizer_config.json"));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  QUERN_ASSIGN_OR_RETURN(Vocabulary vocabulary, ParseTokenizerJson(text, config, path.string()));
  QUERN_TRY(ReadTemplateBeside(path, &vocabulary));
  return vocabulary;
}

}  // namespace quern::format
