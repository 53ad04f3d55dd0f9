// Proves: the demo tokenizer encodes and decodes the golden vectors; special tokens arise only where they are asked
// for; ids are found by string; broken vocabularies are errors, not crashes.
#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/demo_vocabulary.h"
#include "text/stream_decoder.h"

namespace quern::text {
namespace {

using format::PieceType;
using format::Vocabulary;
using testing::AddPiece;
using testing::ByteVocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Tokenizer> Make(Vocabulary vocabulary) {
  auto tokenizer = MakeTokenizer(std::move(vocabulary));
  EXPECT_TRUE(tokenizer) << tokenizer.error().ToString();
  return *tokenizer;
}

class GoldenTokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTokenizer, EncodesAndDecodesTheGoldenVectors) {
  const auto tokenizer = Make(testing::DemoVocabulary(GetParam()));
  const Json golden = testing::ReadTreeJson(fmt::format("models/{}/golden.json", GetParam()));
  ASSERT_GE(golden["tokenizer"].size(), 13u);
  for (const Json& vector : golden["tokenizer"]) {
    const auto text = vector["text"].get<std::string>();
    const auto expected = vector["ids"].get<std::vector<TokenId>>();
    std::vector<TokenId> ids = {*tokenizer->special().bos};  // the golden tokenizer prepends it
    tokenizer->Encode(text, ParseSpecial::kYes, &ids);
    EXPECT_EQ(ids, expected) << text;
    EXPECT_EQ(RepairUtf8(tokenizer->Decode(expected, true)), vector["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Demo, GoldenTokenizer, ::testing::Values("gemma4-nano", "gemma4-nano-moe"));

TEST(Tokenizer, TextNeverBecomesASpecialToken) {
  const auto tokenizer = Make(testing::DemoVocabulary());
  for (TokenId id = 0; id < tokenizer->size(); ++id) {
    const std::string piece(tokenizer->Piece(id));
    const bool byte = tokenizer->vocabulary().types[id] == PieceType::kByte;
    const auto plain = tokenizer->Encode(piece, ParseSpecial::kNo);
    const auto parsed = tokenizer->Encode(piece, ParseSpecial::kYes);
    EXPECT_EQ(parsed == std::vector<TokenId>{id} && plain != parsed, tokenizer->IsSpecial(id)) << piece;
    for (const TokenId other : plain) EXPECT_FALSE(tokenizer->IsSpecial(other)) << piece;
    if (byte) {
      EXPECT_THAT(plain, ::testing::Not(::testing::Contains(id))) << piece;
    }
    if (!byte && !tokenizer->IsSpecial(id)) {
      EXPECT_EQ(tokenizer->Decode(plain), tokenizer->TokenBytes(id));
    }
  }
}

TEST(Tokenizer, MarkersWithAWrongTypeAreStillSpecial) {
  Vocabulary vocabulary = ByteVocabulary({"<", "|", "t", "u", "r", "n", ">", "<|turn>", "</s>"});
  for (auto [left, right] :
       {std::pair{"<", "|"}, {"t", "u"}, {"tu", "r"}, {"tur", "n"}, {"turn", ">"}, {"<|", "turn>"}}) {
    vocabulary.merges.emplace_back(left, right);
  }
  const auto tokenizer = Make(vocabulary);
  const TokenId turn = *tokenizer->special().turn_open;
  EXPECT_THAT(tokenizer->Encode("<|turn>", ParseSpecial::kYes), ElementsAre(turn));
  EXPECT_THAT(tokenizer->Encode("<|turn>", ParseSpecial::kNo), ::testing::Not(::testing::Contains(turn)));
  EXPECT_FALSE(tokenizer->IsSpecial(*tokenizer->Find("</s>")));
}

TEST(Tokenizer, LongestSpecialTokenWins) {
  Vocabulary vocabulary = ByteVocabulary({});
  AddPiece(&vocabulary, "<a>", PieceType::kControl);
  AddPiece(&vocabulary, "<a><b>", PieceType::kUserDefined);
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(tokenizer->Encode("<a><a><b>x<a", ParseSpecial::kYes), ElementsAre(256, 257, 'x', '<', 'a'));
}

TEST(Tokenizer, NewlineRunsThatArePiecesAreTakenWhole) {
  Vocabulary vocabulary = ByteVocabulary({"\n", "\n\n", "\n\n\n", "a"});
  vocabulary.merges = {{"\n", "\n"}};
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(tokenizer->Encode("\n\n\n", ParseSpecial::kNo), ElementsAre(258));
  EXPECT_THAT(tokenizer->Encode("a\n\na\n\n\n\n", ParseSpecial::kNo), ElementsAre(259, 257, 259, 257, 257))
      << "four are no piece: merges decide";
}

TEST(Tokenizer, MergesThroughStringsThatAreNoPieces) {
  // "bc" and "q" are no entries; the merge "a bc" must still see "bc" made, and a lone "bc" ends as bytes.
  Vocabulary vocabulary = ByteVocabulary({"a", "b", "c", "abc", "qa"});
  vocabulary.merges = {{"b", "c"}, {"a", "bc"}, {"q", "a"}};
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(tokenizer->Encode("abc", ParseSpecial::kNo), ElementsAre(259));
  EXPECT_THAT(tokenizer->Encode("bc", ParseSpecial::kNo), ElementsAre('b', 'c'));
  EXPECT_THAT(tokenizer->Encode("qa", ParseSpecial::kNo), ElementsAre(260));
}

TEST(Tokenizer, SpacesBytesAndIllFormedText) {
  const auto tokenizer = Make(ByteVocabulary({"\u2581", "a"}));
  EXPECT_THAT(tokenizer->Encode("a a", ParseSpecial::kNo), ElementsAre(257, 256, 257));
  EXPECT_THAT(tokenizer->Encode("\xFF\xE2\x82", ParseSpecial::kNo), ElementsAre(0xFF, 0xE2, 0x82));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a é\xC3", ParseSpecial::kNo)), "a é\xC3");
  EXPECT_EQ(tokenizer->TokenBytes(256), " ");
  EXPECT_EQ(tokenizer->Piece(256), "\u2581");
  EXPECT_EQ(tokenizer->TokenBytes(-1), "");
  EXPECT_EQ(tokenizer->TokenBytes(tokenizer->size()), "");
}

TEST(Tokenizer, ControlTokensAreHiddenAndVisibleMarkersShown) {
  const auto tokenizer = Make(testing::DemoVocabulary());
  EXPECT_EQ(tokenizer->TokenBytes(*tokenizer->special().turn_close), "");
  EXPECT_EQ(tokenizer->TokenBytes(*tokenizer->special().turn_close, true), "<turn|>");
  EXPECT_EQ(tokenizer->TokenBytes(*tokenizer->special().tool_call_open), "<|tool_call>");
}

TEST(Tokenizer, DuplicatesKeepTheLaterId) {
  Vocabulary vocabulary = ByteVocabulary({"#", "x", "#"});
  const auto tokenizer = Make(vocabulary);
  EXPECT_EQ(tokenizer->Find("#"), 258);
  EXPECT_THAT(tokenizer->Encode("#", ParseSpecial::kNo), ElementsAre(258));
}

TEST(Tokenizer, FreeIdsAreNoPieces) {
  Vocabulary vocabulary = ByteVocabulary({"a"});
  AddPiece(&vocabulary, "", PieceType::kUnused);
  AddPiece(&vocabulary, "", PieceType::kUnused);
  const auto tokenizer = Make(vocabulary);
  EXPECT_EQ(tokenizer->Find(""), std::nullopt);
  EXPECT_THAT(tokenizer->Encode("", ParseSpecial::kYes), ElementsAre());
  EXPECT_EQ(tokenizer->TokenBytes(257, true), "");
}

TEST(Tokenizer, EndIdsComeFromStringsAndTheFile) {
  Vocabulary vocabulary = testing::DemoVocabulary();
  vocabulary.eot = 300;
  const auto tokenizer = Make(vocabulary);
  const SpecialIds& special = tokenizer->special();
  std::vector<TokenId> expected = {*special.eos, *special.tool_response_open, *special.turn_close, 300};
  std::ranges::sort(expected);
  EXPECT_THAT(tokenizer->end_ids(), ::testing::ElementsAreArray(expected));
  tokenizer->AddEndIds(std::vector<TokenId>{299, 300, -1, tokenizer->size()});
  EXPECT_EQ(tokenizer->end_ids().size(), 5u) << "known and impossible ids are not added";
}

TEST(Tokenizer, BrokenVocabulariesAreErrors) {
  const auto error = [](Vocabulary vocabulary) {
    const auto tokenizer = MakeTokenizer(std::move(vocabulary));
    EXPECT_FALSE(tokenizer);
    return tokenizer ? std::string() : tokenizer.error().ToString();
  };
  EXPECT_THAT(error({}), HasSubstr("0 vocabulary entries"));
  Vocabulary vocabulary = ByteVocabulary({"a"});
  vocabulary.types.pop_back();
  EXPECT_THAT(error(vocabulary), HasSubstr("token types"));
  vocabulary = ByteVocabulary({});
  vocabulary.pieces[0x41] = "a";
  EXPECT_THAT(error(vocabulary), HasSubstr("<0x41>"));
  vocabulary = ByteVocabulary({});
  vocabulary.eos = 256;
  EXPECT_THAT(error(vocabulary), HasSubstr("eos token has id 256"));
  vocabulary = ByteVocabulary({});
  vocabulary.kind = format::VocabularyKind::kUnigram;
  vocabulary.scores[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error(vocabulary), HasSubstr("score of entry 3"));
  vocabulary.scores.clear();
  EXPECT_THAT(error(vocabulary), HasSubstr("scores"));
  vocabulary = ByteVocabulary({});
  vocabulary.kind = format::VocabularyKind::kViterbi;
  EXPECT_THAT(error(vocabulary), HasSubstr("unigram language model"));
}

TEST(Tokenizer, SurvivesMergesThatMakeNoSense) {
  Vocabulary vocabulary = ByteVocabulary({"a", "b", "ab", "\n"});
  vocabulary.merges = {{"", "a"}, {"a", ""}, {"\xFF", "a"}, {"a", "\x80"}, {"a", "\n"}, {"a", "b"}, {"zz", "yy"}};
  const auto tokenizer = Make(vocabulary);
  EXPECT_THAT(tokenizer->Encode("ab\na\n", ParseSpecial::kNo), ElementsAre(258, 259, 256, 259));
}

}  // namespace
}  // namespace quern::text
