// WriteHfVocabulary: tokenizer.json, tokenizer.model and tokenizer_config.json.
#include <bit>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "format/piece_type.h"
#include "format/vocabulary_writer.h"

namespace quern::format {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // "▁", U+2581

bool IsAddedToken(PieceType type) {
  return type == PieceType::kControl || type == PieceType::kUserDefined || type == PieceType::kUnknown;
}

OrderedJson AddedTokens(const Vocabulary& vocabulary) {
  OrderedJson tokens = OrderedJson::array();
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    if (!IsAddedToken(vocabulary.types[id])) continue;
    tokens.push_back({{"id", id},
                      {"content", vocabulary.pieces[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", vocabulary.types[id] != PieceType::kUserDefined}});
  }
  return tokens;
}

OrderedJson Replace(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

OrderedJson Normalizer(const Vocabulary& vocabulary) {
  if (!vocabulary.add_space_prefix) return Replace(" ", kSpaceMark);
  OrderedJson prepend = {{"type", "Prepend"}, {"prepend", kSpaceMark}};
  return {{"type", "Sequence"}, {"normalizers", {std::move(prepend), Replace(" ", kSpaceMark)}}};
}

// Puts <bos> in front and <eos> behind where the vocabulary wants them.
OrderedJson PostProcessor(const Vocabulary& vocabulary) {
  const bool add_bos = vocabulary.add_bos && vocabulary.bos, add_eos = vocabulary.add_eos && vocabulary.eos;
  if (!add_bos && !add_eos) return nullptr;
  OrderedJson special = OrderedJson::object();
  const auto token = [&](int32_t id) {
    const std::string& piece = vocabulary.pieces[static_cast<size_t>(id)];
    special[piece] = {{"id", piece}, {"ids", OrderedJson::array({id})}, {"tokens", OrderedJson::array({piece})}};
    return OrderedJson{{"SpecialToken", {{"id", piece}, {"type_id", 0}}}};
  };
  OrderedJson single = OrderedJson::array(), pair = OrderedJson::array();
  for (const std::string_view text : {"A", "B"}) {
    OrderedJson steps = OrderedJson::array();
    if (add_bos) steps.push_back(token(*vocabulary.bos));
    steps.push_back({{"Sequence", {{"id", text}, {"type_id", 0}}}});
    if (add_eos) steps.push_back(token(*vocabulary.eos));
    pair.insert(pair.end(), steps.begin(), steps.end());
    if (text == "A") single = std::move(steps);
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
}

// model.vocab and model.merges are written by hand: as JSON trees they would be some millions of heap objects.
std::string ModelText(const Vocabulary& vocabulary) {
  const auto quoted = [](std::string_view text) { return OrderedJson(text).dump(); };
  std::map<std::string_view, size_t> last_id;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) last_id[vocabulary.pieces[id]] = id;
  std::string text = R"({"type":"BPE","dropout":null,"unk_token":)";
  text += vocabulary.unk ? quoted(vocabulary.pieces[static_cast<size_t>(*vocabulary.unk)]) : "null";
  text += R"(,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,)";
  text += R"("ignore_merges":false,"vocab":{)";
  bool is_first = true;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    const std::string& piece = vocabulary.pieces[id];
    if (piece.empty() || last_id[piece] != id) continue;
    text += fmt::format("{}{}:{}", is_first ? "" : ",", quoted(piece), id);
    is_first = false;
  }
  text += R"(},"merges":[)";
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const auto& [left, right] = vocabulary.merges[rank];
    text += fmt::format("{}[{},{}]", rank == 0 ? "" : ",", quoted(left), quoted(right));
  }
  return text + "]}";
}

std::string TokenizerJsonText(const Vocabulary& vocabulary) {
  OrderedJson decoder = {{"type", "Sequence"},
                         {"decoders", {Replace(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}};
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},"pre_tokenizer":null,)"
      R"("post_processor":{},"decoder":{},"model":{}}})",
      AddedTokens(vocabulary).dump(), Normalizer(vocabulary).dump(), PostProcessor(vocabulary).dump(), decoder.dump(),
      ModelText(vocabulary));
}

std::string TokenizerConfigText(const Vocabulary& vocabulary) {
  OrderedJson config = OrderedJson::object();
  const auto name = [&](std::string_view key, const std::optional<int32_t>& id) {
    if (id) config[std::string(key)] = vocabulary.pieces[static_cast<size_t>(*id)];
  };
  name("bos_token", vocabulary.bos);
  name("eos_token", vocabulary.eos);
  name("eot_token", vocabulary.eot);
  name("unk_token", vocabulary.unk);
  name("pad_token", vocabulary.pad);
  config["add_bos_token"] = vocabulary.add_bos;
  config["add_eos_token"] = vocabulary.add_eos;
  config["tokenizer_class"] = vocabulary.kind == VocabularyKind::kBpe ? "PreTrainedTokenizerFast" : "GemmaTokenizer";
  if (!vocabulary.chat_template.empty()) config["chat_template"] = vocabulary.chat_template;
  return config.dump(1);
}

// The few protobuf forms that a SentencePiece model needs. Field numbers: google/sentencepiece,
// sentencepiece_model.proto.
class ProtobufText {
 public:
  void Varint(uint32_t field, uint64_t value) {
    Number(uint64_t{field} << 3);
    Number(value);
  }
  void Bytes(uint32_t field, std::string_view bytes) {
    Number(uint64_t{field} << 3 | 2);
    Number(bytes.size());
    text_ += bytes;
  }
  void Float(uint32_t field, float value) {
    Number(uint64_t{field} << 3 | 5);
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) text_ += static_cast<char>(bits >> shift & 0xFF);
  }
  const std::string& text() const { return text_; }

 private:
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

std::string SentencePieceText(const Vocabulary& vocabulary) {
  ProtobufText model;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
    ProtobufText piece;
    piece.Bytes(1, vocabulary.pieces[id]);
    piece.Float(2, vocabulary.scores[id]);
    piece.Varint(3, static_cast<uint64_t>(NumberOf(vocabulary.types[id])));
    model.Bytes(1, piece.text());
  }
  constexpr uint64_t kBpeModel = 2;
  ProtobufText trainer;
  trainer.Varint(3, kBpeModel);
  trainer.Varint(35, 1);  // byte_fallback
  const auto id_or_none = [](const std::optional<int32_t>& id) {
    return static_cast<uint64_t>(int64_t{id.value_or(-1)});
  };
  trainer.Varint(40, id_or_none(vocabulary.unk));
  trainer.Varint(41, id_or_none(vocabulary.bos));
  trainer.Varint(42, id_or_none(vocabulary.eos));
  trainer.Varint(43, id_or_none(vocabulary.pad));
  model.Bytes(2, trainer.text());
  ProtobufText normalizer;
  normalizer.Bytes(1, "identity");
  normalizer.Varint(3, vocabulary.add_space_prefix ? 1 : 0);
  normalizer.Varint(4, 0);  // remove_extra_whitespaces
  normalizer.Varint(5, 1);  // escape_whitespaces
  model.Bytes(3, normalizer.text());
  return model.text();
}

}  // namespace

Status WriteHfVocabulary(const Vocabulary& vocabulary, const std::filesystem::path& folder) {
  if (vocabulary.kind == VocabularyKind::kViterbi) {
    return Fail(Code::kUnsupported, "a unigram language model is not a tokenizer of these models");
  }
  try {  // dump() throws on a string that is not UTF-8
    if (vocabulary.kind == VocabularyKind::kBpe) {
      QUERN_TRY(WriteFileAtomically(folder / "tokenizer.json", TokenizerJsonText(vocabulary)));
    } else {
      QUERN_TRY(WriteFileAtomically(folder / "tokenizer.model", SentencePieceText(vocabulary)));
    }
    return WriteFileAtomically(folder / "tokenizer_config.json", TokenizerConfigText(vocabulary));
  } catch (const std::exception& error) {
    return Fail(Code::kCorrupt, "the vocabulary holds a piece that is not UTF-8: {}", error.what());
  }
}

}  // namespace quern::format
