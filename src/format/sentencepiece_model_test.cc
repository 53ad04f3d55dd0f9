// Proves: a model that libsentencepiece trained is read as that library reads it, piece by piece, and normalizers that
// this build does not implement are refused.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "format/sample_files.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

using ::testing::HasSubstr;

class SentencePieceModelTest : public ::testing::Test {
 protected:
  // Trains on a few lines of made-up text with Gemma's settings plus `arguments`; returns the model's bytes.
  std::string Train(std::string_view arguments) {
    std::string corpus;
    for (int line = 0; line < 200; ++line) {
      corpus += fmt::format("the quick brown fox number {} jumps over lazy dog {}\n", line * 37, line % 13);
    }
    const std::filesystem::path input = folder_.Write("corpus.txt", corpus);
    const std::string prefix = (folder_.path() / "m").string();
    const auto status = sentencepiece::SentencePieceTrainer::Train(fmt::format(
        "--input={} --model_prefix={} --vocab_size=320 --byte_fallback=true --minloglevel=2 --hard_vocab_limit=false "
        "--user_defined_symbols=<|tool_call>,<custom> --control_symbols=<ctrl> --pad_id=3 {}",
        input.string(), prefix, arguments));
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::ifstream stream(prefix + ".model", std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static constexpr std::string_view kGemma =
      "--normalization_rule_name=identity --add_dummy_prefix=false --remove_extra_whitespaces=false";

  TemporaryFolder folder_;
};

TEST_F(SentencePieceModelTest, AgreesWithTheLibrary) {
  for (const std::string_view type : {"bpe", "unigram"}) {
    const std::string model = Train(fmt::format("{} --model_type={}", kGemma, type));
    const Result<Vocabulary> vocabulary = ReadSentencePieceModel(folder_.path() / "m.model");
    ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
    sentencepiece::SentencePieceProcessor oracle;
    ASSERT_TRUE(oracle.LoadFromSerializedProto(model).ok());
    ASSERT_EQ(static_cast<int>(vocabulary->pieces.size()), oracle.GetPieceSize());
    for (int id = 0; id < oracle.GetPieceSize(); ++id) {
      EXPECT_EQ(vocabulary->pieces[id], oracle.IdToPiece(id));
      EXPECT_EQ(vocabulary->scores[id], oracle.GetScore(id));
      const PieceType type_of_id = vocabulary->types[id];
      EXPECT_EQ(type_of_id == PieceType::kByte, oracle.IsByte(id)) << id;
      EXPECT_EQ(type_of_id == PieceType::kControl, oracle.IsControl(id)) << id;
      EXPECT_EQ(type_of_id == PieceType::kUnknown, oracle.IsUnknown(id)) << id;
      EXPECT_EQ(type_of_id == PieceType::kUnused, oracle.IsUnused(id)) << id;
    }
    EXPECT_EQ(vocabulary->kind, type == "bpe" ? VocabularyKind::kUnigram : VocabularyKind::kViterbi);
    EXPECT_EQ(vocabulary->types[oracle.PieceToId("<custom>")], PieceType::kUserDefined);
    EXPECT_EQ(vocabulary->unk, oracle.unk_id());
    EXPECT_EQ(vocabulary->bos, oracle.bos_id());
    EXPECT_EQ(vocabulary->eos, oracle.eos_id());
    EXPECT_EQ(vocabulary->pad, oracle.pad_id());
    EXPECT_FALSE(vocabulary->add_space_prefix);
  }
}

TEST_F(SentencePieceModelTest, TakesCompanionsIntoAccount) {
  Train(kGemma);
  folder_.Write("tokenizer_config.json", R"({"add_bos_token":true,"eos_token":"<custom>","chat_template":"t"})");
  const Result<Vocabulary> vocabulary = ReadSentencePieceModel(folder_.path() / "m.model");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_TRUE(vocabulary->add_bos);
  EXPECT_EQ(vocabulary->chat_template, "t");
  EXPECT_EQ(vocabulary->pieces[*vocabulary->eos], "<custom>");
  EXPECT_EQ(vocabulary->types[*vocabulary->eos], PieceType::kControl);
}

TEST_F(SentencePieceModelTest, RefusesOtherNormalizers) {
  const auto refusal = [&](std::string_view arguments) {
    const Result<Vocabulary> vocabulary = ParseSentencePieceModel(Train(arguments));
    return vocabulary ? Error{} : vocabulary.error();
  };
  const Error charsmap = refusal("--normalization_rule_name=nmt_nfkc --remove_extra_whitespaces=false");
  EXPECT_EQ(charsmap.code, Code::kUnsupported);
  EXPECT_THAT(charsmap.message, HasSubstr("character map"));
  EXPECT_THAT(refusal("--normalization_rule_name=identity").message, HasSubstr("remove_extra_whitespaces"));
  EXPECT_THAT(refusal(fmt::format("{} --model_type=char --byte_fallback=false", kGemma)).message,
              HasSubstr("model type 4"));
}

TEST_F(SentencePieceModelTest, EveryPrefixFailsOrReads) {
  const std::string model = Train(kGemma);
  for (size_t size = 0; size < model.size(); ++size) {
    const Result<Vocabulary> vocabulary = ParseSentencePieceModel(std::string_view(model).substr(0, size));
    if (!vocabulary) {
      EXPECT_NE(vocabulary.error().code, Code::kInternal);
    }
  }
  EXPECT_TRUE(ParseSentencePieceModel(model).has_value());
}

TEST(SentencePieceBytesTest, ReadsAModelMadeByHand) {
  const Result<Vocabulary> vocabulary = ParseSentencePieceModel(SmallSentencePieceModel());
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_THAT(vocabulary->pieces, ::testing::ElementsAre("<unk>", "<s>", "</s>", "<0x41>", "a"));
  EXPECT_EQ(vocabulary->scores[4], -1.0f);
  EXPECT_EQ(vocabulary->types[3], PieceType::kByte);
}

TEST(SentencePieceBytesTest, RefusesMalformedMessages) {
  EXPECT_EQ(ParseSentencePieceModel("").error().message, "a SentencePiece model without pieces");
  // Field 1 of 100 bytes in a file of one; a varint without end; a group; field number 0.
  for (const std::string_view bytes :
       {"\x0A\x64x", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\x0B", "\x02\x01x"}) {
    EXPECT_THAT(ParseSentencePieceModel(bytes).error().message, HasSubstr("not valid protobuf"));
  }
  using std::string_literals::operator""s;
  EXPECT_THAT(ParseSentencePieceModel("\x0A\x03\x0A\x01x"s + "\x0A\x05\x0A\x01y\x18\x09").error().message,
              HasSubstr("type 9"));
  EXPECT_THAT(ParseSentencePieceModel("\x0A\x00"s).error().message, HasSubstr("piece 0 is empty"));
  // The schema's defaults declare <s> 1 and </s> 2, which a vocabulary of one piece lacks.
  EXPECT_EQ(ParseSentencePieceModel("\x0A\x03\x0A\x01x\x1A\x02\x20\x00"s).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace quern::format
