// ReadSentencePieceModel. Field numbers: google/sentencepiece, src/sentencepiece_model.proto.
#include <limits>
#include <utility>

#include "base/file.h"
#include "format/piece_type.h"
#include "format/protobuf_reader.h"
#include "format/quoted.h"
#include "format/tokenizer_config.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

constexpr size_t kMaxModelBytes = size_t{64} << 20;

// The fields of TrainerSpec and NormalizerSpec that decide how text is encoded, with the defaults of the schema.
struct Specs {
  int32_t model_type = 1;
  int32_t unk_id = 0, bos_id = 1, eos_id = 2, pad_id = -1;
  bool treat_whitespace_as_suffix = false;
  bool has_charsmap = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

tl::unexpected<Error> Malformed(std::string_view message) {
  return Fail(Code::kCorrupt, "not a SentencePiece model: {} is not valid protobuf", message);
}

Status ReadTrainerSpec(std::string_view message, Specs* specs) {
  ProtobufReader reader(message);
  for (ProtobufReader::Field field; reader.Next(&field);) {
    switch (field.number) {
      case 3:
        specs->model_type = field.as_int32();
        break;
      case 24:
        specs->treat_whitespace_as_suffix = field.as_bool();
        break;
      case 40:
        specs->unk_id = field.as_int32();
        break;
      case 41:
        specs->bos_id = field.as_int32();
        break;
      case 42:
        specs->eos_id = field.as_int32();
        break;
      case 43:
        specs->pad_id = field.as_int32();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return Malformed("trainer_spec");
  return {};
}

Status ReadNormalizerSpec(std::string_view message, Specs* specs) {
  ProtobufReader reader(message);
  for (ProtobufReader::Field field; reader.Next(&field);) {
    switch (field.number) {
      case 2:
        specs->has_charsmap = !field.bytes.empty();
        break;
      case 3:
        specs->add_dummy_prefix = field.as_bool();
        break;
      case 4:
        specs->remove_extra_whitespaces = field.as_bool();
        break;
      case 5:
        specs->escape_whitespaces = field.as_bool();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return Malformed("normalizer_spec");
  return {};
}

Status AddPiece(std::string_view message, Vocabulary* vocabulary) {
  ProtobufReader reader(message);
  std::string_view piece;
  float score = 0;
  int32_t number = 1;
  for (ProtobufReader::Field field; reader.Next(&field);) {
    switch (field.number) {
      case 1:
        piece = field.bytes;
        break;
      case 2:
        score = field.as_float();
        break;
      case 3:
        number = field.as_int32();
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return Malformed("a piece");
  if (piece.empty()) return Fail(Code::kCorrupt, "piece {} is empty", vocabulary->pieces.size());
  const std::optional<PieceType> type = PieceTypeOfNumber(number);
  if (!type) return Fail(Code::kCorrupt, "a piece has type {}; 1 to 6 exist", number);
  vocabulary->pieces.emplace_back(piece);
  vocabulary->scores.push_back(score);
  vocabulary->types.push_back(*type);
  return {};
}

Status ApplySpecs(const Specs& specs, Vocabulary* vocabulary) {
  if (specs.model_type != 1 && specs.model_type != 2) {
    return Fail(Code::kUnsupported, "SentencePiece model type {} is not supported; unigram (1) and BPE (2) are",
                specs.model_type);
  }
  vocabulary->kind = specs.model_type == 2 ? VocabularyKind::kUnigram : VocabularyKind::kViterbi;
  if (specs.has_charsmap) return Fail(Code::kUnsupported, "a normalizer with a character map is not supported");
  if (specs.remove_extra_whitespaces) return Fail(Code::kUnsupported, "remove_extra_whitespaces is not supported");
  if (!specs.escape_whitespaces) return Fail(Code::kUnsupported, "escape_whitespaces = false is not supported");
  if (specs.treat_whitespace_as_suffix) return Fail(Code::kUnsupported, "treat_whitespace_as_suffix is not supported");
  vocabulary->add_space_prefix = specs.add_dummy_prefix;
  // A negative id says that the model has no such token.
  const auto declared = [](int32_t id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); };
  vocabulary->unk = declared(specs.unk_id);
  vocabulary->bos = declared(specs.bos_id);
  vocabulary->eos = declared(specs.eos_id);
  vocabulary->pad = declared(specs.pad_id);
  return {};
}

}  // namespace

Result<Vocabulary> ParseSentencePieceModel(std::string_view model) {
  Vocabulary vocabulary;
  Specs specs;
  ProtobufReader reader(model);
  for (ProtobufReader::Field field; reader.Next(&field);) {
    switch (field.number) {
      case 1:
        QUERN_TRY(AddPiece(field.bytes, &vocabulary));
        break;
      case 2:
        QUERN_TRY(ReadTrainerSpec(field.bytes, &specs));
        break;
      case 3:
        QUERN_TRY(ReadNormalizerSpec(field.bytes, &specs));
        break;
      case 5:
        if (!field.bytes.empty()) return Fail(Code::kUnsupported, "a denormalizer is not supported");
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return Malformed("the file");
  if (vocabulary.pieces.empty()) return Fail(Code::kCorrupt, "a SentencePiece model without pieces");
  QUERN_TRY(ApplySpecs(specs, &vocabulary));
  QUERN_TRY(CheckDeclaredIds(vocabulary));
  MendTypes(&vocabulary);
  return vocabulary;
}

Result<Vocabulary> ReadSentencePieceModel(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string model, ReadFile(path, kMaxModelBytes));
  Result<Vocabulary> vocabulary = ParseSentencePieceModel(model);
  if (!vocabulary) return WithFrame(std::move(vocabulary).error(), path.string());
  QUERN_ASSIGN_OR_RETURN(const std::string config, ReadIfPresent(path.parent_path() / "tokenizer_config.json"));
  QUERN_TRY(ApplyTokenizerConfig(config, &*vocabulary));
  QUERN_TRY(ReadTemplateBeside(path, &*vocabulary));
  return vocabulary;
}

}  // namespace quern::format
