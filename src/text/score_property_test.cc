// Proves: the score-based encoder gives the ids of libsentencepiece, on a model trained here, with user-defined pieces,
// byte fallback, runs of spaces and text the model has never seen.
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <unistd.h>

#include "text/demo_vocabulary.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

using format::PieceType;
using format::Vocabulary;
using ::testing::ElementsAre;

constexpr std::string_view kWords[] = {"the",  "river", "rivers", "running", "run",   "table",  "tables", "stable",
                                       "café", "漢字",  "漢",     "a",       "aa",    "aaa",    "under",  "understand",
                                       "it's", "3.14",  "2024",   "\t",      "hello", "helloo", "😀",      "<b>"};

std::string RandomText(std::mt19937& random, size_t max_words) {
  std::string text;
  for (size_t words = random() % max_words; words > 0; --words) {
    const std::string_view word = kWords[random() % std::size(kWords)];
    text += random() % 5 == 0 ? word.substr(0, random() % word.size()) : word;  // may cut a character
    if (random() % 3 != 0) text.append(1 + random() % 3, ' ');
    if (random() % 11 == 0) text += random() % 2 == 0 ? "\n\n" : "ж\u0301";
  }
  return text;
}

// Trains once per prefix rule; the file lives as long as the object.
class SentencePieceModel {
 public:
  explicit SentencePieceModel(bool space_prefix) {
    namespace fs = std::filesystem;
    directory_ = fs::temp_directory_path() / fmt::format("quern_score_test_{}_{}", ::getpid(), space_prefix);
    fs::create_directories(directory_);
    std::mt19937 random(5);
    std::ofstream corpus(directory_ / "corpus.txt");
    for (int line = 0; line < 400; ++line) {
      for (int word = 0; word < 12; ++word) corpus << kWords[random() % std::size(kWords)] << ' ';
      corpus << '\n';
    }
    corpus.close();
    const std::string prefix = (directory_ / "model").string();
    const auto status = sentencepiece::SentencePieceTrainer::Train(fmt::format(
        "--input={} --model_prefix={} --model_type=bpe --vocab_size=420 --byte_fallback=true --hard_vocab_limit=false "
        "--normalization_rule_name=identity --add_dummy_prefix={} --remove_extra_whitespaces=false "
        "--user_defined_symbols=<b>,\u2581\u2581\u2581 --character_coverage=0.98 --minloglevel=2",
        (directory_ / "corpus.txt").string(), prefix, space_prefix));
    EXPECT_TRUE(status.ok()) << status.ToString();
    const auto loaded = processor_.Load(prefix + ".model");
    EXPECT_TRUE(loaded.ok()) << loaded.ToString();
  }
  ~SentencePieceModel() { std::filesystem::remove_all(directory_); }

  const sentencepiece::SentencePieceProcessor& processor() const { return processor_; }

  Vocabulary ToVocabulary() const {
    Vocabulary vocabulary;
    vocabulary.kind = format::VocabularyKind::kUnigram;
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      const PieceType type = processor_.IsByte(id)      ? PieceType::kByte
                             : processor_.IsControl(id) ? PieceType::kControl
                             : processor_.IsUnknown(id) ? PieceType::kUnknown
                             : IsUserDefined(id)        ? PieceType::kUserDefined
                                                        : PieceType::kNormal;
      testing::AddPiece(&vocabulary, processor_.IdToPiece(id), type, processor_.GetScore(id));
    }
    return vocabulary;
  }

 private:
  bool IsUserDefined(int id) const {
    return processor_.IdToPiece(id) == "<b>" || processor_.IdToPiece(id) == "\u2581\u2581\u2581";
  }

  std::filesystem::path directory_;
  sentencepiece::SentencePieceProcessor processor_;
};

class ScoreProperty : public ::testing::TestWithParam<bool> {};

TEST_P(ScoreProperty, EqualsSentencePiece) {
  const SentencePieceModel model(GetParam());
  Vocabulary vocabulary = model.ToVocabulary();
  vocabulary.add_space_prefix = GetParam();
  const auto tokenizer = MakeTokenizer(vocabulary);
  ASSERT_TRUE(tokenizer) << tokenizer.error().ToString();
  std::mt19937 random(6);
  size_t merged = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = RandomText(random, round % 20 == 0 ? 200 : 12);
    // libsentencepiece replaces ill-formed bytes before it encodes; ours keeps them, so compare on UTF-8 only.
    std::string clean;
    for (std::string_view rest = text; !rest.empty();) {
      const Utf8Step step = NextUtf8(rest);
      if (step.state == Utf8State::kComplete) clean += rest.substr(0, step.length);
      rest.remove_prefix(step.length);
    }
    std::vector<int> expected;
    ASSERT_TRUE(model.processor().Encode(clean, &expected).ok());
    ASSERT_EQ((*tokenizer)->Encode(clean, ParseSpecial::kNo), expected) << "round " << round << ": " << clean;
    merged += expected.size() < clean.size();
  }
  EXPECT_GT(merged, 2000u) << "the model merges nothing: the comparison proves little";
}

INSTANTIATE_TEST_SUITE_P(SpacePrefix, ScoreProperty, ::testing::Bool());

TEST(ScoreTokenizer, MarkersAndUserDefinedPieces) {
  Vocabulary vocabulary = testing::ByteVocabulary({});
  vocabulary.kind = format::VocabularyKind::kUnigram;
  testing::AddPiece(&vocabulary, "<start_of_turn>", PieceType::kUserDefined);  // 256: a marker whatever its type
  testing::AddPiece(&vocabulary, "<bos>", PieceType::kControl);                // 257
  testing::AddPiece(&vocabulary, "\n\n", PieceType::kUserDefined);             // 258
  testing::AddPiece(&vocabulary, "  ", PieceType::kUserDefined);               // 259: as some converters spell it
  testing::AddPiece(&vocabulary, "a", PieceType::kNormal, -5);                 // 260
  const auto tokenizer = MakeTokenizer(vocabulary);
  ASSERT_TRUE(tokenizer);
  EXPECT_THAT((*tokenizer)->Encode("<bos><start_of_turn>a", ParseSpecial::kYes), ElementsAre(257, 256, 260));
  const auto plain = (*tokenizer)->Encode("<bos><start_of_turn>", ParseSpecial::kNo);
  EXPECT_EQ(plain.size(), 20u) << "byte by byte";
  EXPECT_THAT((*tokenizer)->Encode("a\n\na  a", ParseSpecial::kNo), ElementsAre(260, 258, 260, 259, 260));
}

TEST(ScoreTokenizer, HigherScoreFirstThenLeftmost) {
  Vocabulary vocabulary = testing::ByteVocabulary({});
  vocabulary.kind = format::VocabularyKind::kUnigram;
  for (const char* piece : {"a", "b", "c"}) testing::AddPiece(&vocabulary, piece, PieceType::kNormal, -9);  // 256..258
  testing::AddPiece(&vocabulary, "ab", PieceType::kNormal, -2);                                             // 259
  testing::AddPiece(&vocabulary, "bc", PieceType::kNormal, -1);                                             // 260
  testing::AddPiece(&vocabulary, "aa", PieceType::kNormal, -1);                                             // 261
  const auto tokenizer = MakeTokenizer(vocabulary);
  ASSERT_TRUE(tokenizer);
  EXPECT_THAT((*tokenizer)->Encode("abc", ParseSpecial::kNo), ElementsAre(256, 260));
  EXPECT_THAT((*tokenizer)->Encode("aaa", ParseSpecial::kNo), ElementsAre(261, 256));
}

}  // namespace
}  // namespace quern::text
