// Proves: tokenizer.json of the demo models and of the published shape reads completely, and every node that would make
// a different tokenizer is refused by name.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "format/sample_files.h"
#include "format/tokenizer_json_parser.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kMark = "\xE2\x96\x81";

int32_t IdOf(const Vocabulary& vocabulary, std::string_view piece) {
  const auto found = std::ranges::find(vocabulary.pieces, piece);
  return found == vocabulary.pieces.end() ? -1 : static_cast<int32_t>(found - vocabulary.pieces.begin());
}

PieceType TypeOf(const Vocabulary& vocabulary, std::string_view piece) {
  return vocabulary.types.at(IdOf(vocabulary, piece));
}

// The small tokenizer after a change to its tree.
Result<Vocabulary> ReadChanged(const std::function<void(Json&)>& change) {
  Json tree = Json::parse(SmallTokenizerJson());
  change(tree);
  return ParseTokenizerJson(tree.dump(), "", "tokenizer.json");
}

void ExpectUnsupported(std::string_view message, const std::function<void(Json&)>& change) {
  const Result<Vocabulary> vocabulary = ReadChanged(change);
  ASSERT_FALSE(vocabulary.has_value()) << "expected: " << message;
  EXPECT_EQ(vocabulary.error().code, Code::kUnsupported) << vocabulary.error().ToString();
  EXPECT_THAT(vocabulary.error().ToString(), HasSubstr(std::string(message)));
}

void ExpectCorrupt(std::string_view message, const std::function<void(Json&)>& change) {
  const Result<Vocabulary> vocabulary = ReadChanged(change);
  ASSERT_FALSE(vocabulary.has_value()) << "expected: " << message;
  EXPECT_EQ(vocabulary.error().code, Code::kCorrupt) << vocabulary.error().ToString();
  EXPECT_THAT(vocabulary.error().ToString(), HasSubstr(std::string(message)));
}

TEST(TokenizerJsonTest, ReadsTheDemoTokenizer) {
  const Result<Vocabulary> vocabulary =
      ReadTokenizerJson(std::filesystem::path(QUERN_SOURCE_DIR) / "models" / "gemma4-nano" / "tokenizer.json");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->kind, VocabularyKind::kBpe);
  EXPECT_EQ(vocabulary->pieces.size(), 4096u);
  EXPECT_EQ(vocabulary->types.size(), 4096u);
  EXPECT_EQ(vocabulary->merges.size(), 3720u);
  EXPECT_THAT(vocabulary->merges[0], Pair("o", "r"));
  EXPECT_THAT(vocabulary->merges[2], Pair(kMark, "i"));
  EXPECT_EQ(vocabulary->bos, 2);
  EXPECT_EQ(vocabulary->eos, 1);
  EXPECT_EQ(vocabulary->unk, 3);
  EXPECT_EQ(vocabulary->pad, 0);
  EXPECT_TRUE(vocabulary->add_bos);
  EXPECT_FALSE(vocabulary->add_eos);
  EXPECT_FALSE(vocabulary->add_space_prefix);
  EXPECT_THAT(vocabulary->chat_template, HasSubstr("<|turn>model"));
  EXPECT_TRUE(vocabulary->scores.empty());
  EXPECT_EQ(vocabulary->types[3], PieceType::kUnknown);
  EXPECT_EQ(TypeOf(*vocabulary, "<|turn>"), PieceType::kControl);
  EXPECT_EQ(TypeOf(*vocabulary, "<|tool_call>"), PieceType::kUserDefined);
  EXPECT_EQ(TypeOf(*vocabulary, "<|\"|>"), PieceType::kUserDefined);
  EXPECT_EQ(vocabulary->types[24], PieceType::kByte);
  EXPECT_EQ(vocabulary->types[279], PieceType::kByte);
  EXPECT_EQ(std::ranges::count(vocabulary->types, PieceType::kByte), 256);
  EXPECT_EQ(std::ranges::count(vocabulary->types, PieceType::kUserDefined), 7);
}

TEST(TokenizerJsonTest, BothFormsOfMergesGiveTheSame) {
  const Result<Vocabulary> pairs = ParseTokenizerJson(SmallTokenizerJson(MergeForm::kPairs), "", "t");
  const Result<Vocabulary> strings = ParseTokenizerJson(SmallTokenizerJson(MergeForm::kStrings), "", "t");
  ASSERT_TRUE(pairs.has_value() && strings.has_value());
  EXPECT_THAT(pairs->merges, ::testing::ElementsAre(Pair("a", "b"), Pair(kMark, "ab")));
  EXPECT_EQ(pairs->merges, strings->merges);
}

TEST(TokenizerJsonTest, MergeStringsSplitAtTheFirstSpaceWithSomethingBeforeIt) {
  std::pair<std::string, std::string> halves;
  EXPECT_TRUE(SplitMerge("a b", &halves));
  EXPECT_THAT(halves, Pair("a", "b"));
  EXPECT_TRUE(SplitMerge("  b", &halves));
  EXPECT_THAT(halves, Pair(" ", "b"));
  EXPECT_TRUE(SplitMerge("\n \n\n", &halves));
  EXPECT_THAT(halves, Pair("\n", "\n\n"));
  for (const std::string_view bad : {"", " ", "ab", " b", "a "}) EXPECT_FALSE(SplitMerge(bad, &halves)) << bad;
}

TEST(TokenizerJsonTest, AddedTokensGetTheirTypes) {
  const Result<Vocabulary> vocabulary = ParseTokenizerJson(SmallTokenizerJson(), "", "t");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->pieces.back(), "<custom>");
  EXPECT_EQ(vocabulary->types.back(), PieceType::kUserDefined);
  EXPECT_EQ(TypeOf(*vocabulary, "<|turn>"), PieceType::kControl);
  EXPECT_EQ(TypeOf(*vocabulary, "<|tool_call>"), PieceType::kUserDefined);
  EXPECT_EQ(TypeOf(*vocabulary, "<0x41>"), PieceType::kByte);
  EXPECT_EQ(TypeOf(*vocabulary, "ab"), PieceType::kNormal);
  EXPECT_EQ(vocabulary->bos, 2);  // from the post-processor
  EXPECT_EQ(vocabulary->eos, std::nullopt);
}

TEST(TokenizerJsonTest, CompanionsNameTokensAndTemplate) {
  const Result<Vocabulary> vocabulary = ParseTokenizerJson(SmallTokenizerJson(), SmallTokenizerConfig(), "t");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->eos, 1);
  EXPECT_EQ(vocabulary->eot, IdOf(*vocabulary, "<turn|>"));
  EXPECT_EQ(vocabulary->pad, 0);
  EXPECT_EQ(vocabulary->chat_template, "d");
  const Result<Vocabulary> missing = ParseTokenizerJson(SmallTokenizerJson(), R"({"eos_token":"</nope>"})", "t");
  EXPECT_EQ(missing.error().code, Code::kCorrupt);
  EXPECT_THAT(missing.error().message, HasSubstr("eos_token \"</nope>\" is not in the vocabulary"));
  EXPECT_FALSE(ParseTokenizerJson(SmallTokenizerJson(), R"({"eos_token":7})", "t").has_value());
  EXPECT_FALSE(ParseTokenizerJson(SmallTokenizerJson(), "[]", "t").has_value());
}

TEST(TokenizerJsonTest, TheTemplateMayLieInAFileOfItsOwn) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Write("tokenizer.json", SmallTokenizerJson());
  EXPECT_EQ(ReadTokenizerJson(path)->chat_template, "");
  folder.Write("chat_template.jinja", "from file");
  EXPECT_EQ(ReadTokenizerJson(path)->chat_template, "from file");
  folder.Write("tokenizer_config.json", SmallTokenizerConfig());
  EXPECT_EQ(ReadTokenizerJson(path)->chat_template, "d");
}

TEST(TokenizerJsonTest, OneStringMayHaveTwoIdsAndAnIdNoString) {
  const Result<Vocabulary> vocabulary = ParseTokenizerJson(
      R"({"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
          "model":{"type":"BPE","byte_fallback":true,"vocab":{"#":0,"a":1,"b":3,"#":4},"merges":[]}})",
      "", "t");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_THAT(vocabulary->pieces, ::testing::ElementsAre("#", "a", "", "b", "#"));
  EXPECT_EQ(vocabulary->types[2], PieceType::kUnused);
}

TEST(TokenizerJsonTest, ReadsUnigram) {
  const Result<Vocabulary> vocabulary = ParseTokenizerJson(
      R"({"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
          "added_tokens":[{"id":3,"content":"<mask>","special":true}],
          "model":{"vocab":[["<unk>",0],["▁a",-1.5],["b",-2]],"unk_id":0,"type":"Unigram"}})",
      "", "t");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->kind, VocabularyKind::kViterbi);
  EXPECT_THAT(vocabulary->scores, ::testing::ElementsAre(0, -1.5f, -2, 0));
  EXPECT_TRUE(vocabulary->add_space_prefix);
  EXPECT_EQ(vocabulary->unk, 0);
  EXPECT_EQ(vocabulary->types[3], PieceType::kControl);
}

TEST(TokenizerJsonTest, APrependBeforeTheReplacementIsASpacePrefix) {
  const Result<Vocabulary> vocabulary = ReadChanged([](Json& tree) {
    tree["normalizer"] = {{"type", "Sequence"},
                          {"normalizers", {{{"type", "Prepend"}, {"prepend", kMark}}, tree["normalizer"]}}};
  });
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_TRUE(vocabulary->add_space_prefix);
}

TEST(TokenizerJsonTest, RefusesOtherPipelines) {
  ExpectUnsupported("model type \"WordPiece\"", [](Json& t) { t["model"]["type"] = "WordPiece"; });
  ExpectUnsupported("normalizer \"NFKC\"", [](Json& t) { t["normalizer"] = {{"type", "NFKC"}}; });
  ExpectUnsupported("normalizer \"Precompiled\"", [](Json& t) {
    t["normalizer"] = {{"type", "Sequence"}, {"normalizers", {t["normalizer"], {{"type", "Precompiled"}}}}};
  });
  ExpectUnsupported("normalizer \"Replace\"", [](Json& t) { t["normalizer"]["content"] = "_"; });
  ExpectUnsupported("does not turn spaces", [](Json& t) { t["normalizer"] = nullptr, t["pre_tokenizer"] = nullptr; });
  ExpectUnsupported("pre_tokenizer \"ByteLevel\"", [](Json& t) { t["pre_tokenizer"] = {{"type", "ByteLevel"}}; });
  ExpectUnsupported("pre_tokenizer \"Split\"", [](Json& t) { t["pre_tokenizer"]["pattern"] = {{"Regex", "\\d"}}; });
  ExpectUnsupported("decoder \"ByteLevel\"", [](Json& t) { t["decoder"] = {{"type", "ByteLevel"}}; });
  ExpectUnsupported("post_processor \"RobertaProcessing\"", [](Json& t) {
    t["post_processor"] = {{"type", "RobertaProcessing"}};
  });
  ExpectUnsupported("post_processor", [](Json& t) {
    t["post_processor"]["single"].insert(t["post_processor"]["single"].begin(), t["post_processor"]["single"][0]);
  });
  ExpectUnsupported("post_processor", [](Json& t) { t["post_processor"]["special_tokens"] = Json::object(); });
  ExpectUnsupported("without byte_fallback", [](Json& t) { t["model"]["byte_fallback"] = false; });
  ExpectUnsupported("model.ignore_merges", [](Json& t) { t["model"]["ignore_merges"] = true; });
  ExpectUnsupported("model.dropout", [](Json& t) { t["model"]["dropout"] = 0.1; });
  ExpectUnsupported("model.end_of_word_suffix", [](Json& t) { t["model"]["end_of_word_suffix"] = "</w>"; });
  ExpectUnsupported("with lstrip", [](Json& t) { t["added_tokens"][0]["lstrip"] = true; });
}

TEST(TokenizerJsonTest, RefusesContradictions) {
  ExpectCorrupt("model.unk_token is not in model.vocab", [](Json& t) { t["model"]["unk_token"] = "<nope>"; });
  ExpectCorrupt("id 0 is \"<pad>\" in model.vocab and \"x\" in added_tokens",
                [](Json& t) { t["added_tokens"][0]["content"] = "x"; });
  ExpectCorrupt("behind a vocabulary", [](Json& t) { t["added_tokens"][0]["id"] = 1'000'000; });
  ExpectCorrupt("lacks id, content or special", [](Json& t) { t["added_tokens"][0].erase("special"); });
  ExpectCorrupt("belongs to", [](Json& t) { t["model"]["vocab"]["x"] = 0; });
  ExpectCorrupt("more than the file has pieces", [](Json& t) { t["model"]["vocab"]["x"] = uint64_t{1} << 40; });
  ExpectCorrupt("pieces but ids up to", [](Json& t) { t["model"]["vocab"]["x"] = 2000; });
  ExpectCorrupt("inside model.vocab", [](Json& t) { t["model"]["vocab"]["x"] = -1; });
  ExpectCorrupt("needs something else", [](Json& t) { t["model"]["vocab"]["x"] = "y"; });
  ExpectCorrupt("model.vocab is missing", [](Json& t) { t["model"]["vocab"] = Json::object(); });
  ExpectCorrupt("model.vocab is missing", [](Json& t) { t["model"].erase("vocab"); });
  ExpectCorrupt("not of the form that Unigram has", [](Json& t) { t["model"]["type"] = "Unigram"; });
  ExpectCorrupt("not a pair of strings", [](Json& t) { t["model"]["merges"][0] = {"a"}; });
  ExpectCorrupt("not a pair of strings", [](Json& t) { t["model"]["merges"][0] = {"a", "b", "c"}; });
  ExpectCorrupt("inside model.vocab or model.merges", [](Json& t) { t["model"]["merges"][0] = 1; });
  ExpectCorrupt("nested too deeply", [](Json& t) { t["model"]["merges"][0] = {{"a", "b"}}; });
  ExpectCorrupt("no space between two halves", [](Json& t) { t["model"]["merges"][0] = "ab"; });
  ExpectCorrupt("the bos token has id 99999",
                [](Json& t) { t["post_processor"]["special_tokens"]["<bos>"]["ids"] = {99999}; });
}

TEST(TokenizerJsonTest, RefusesBadJson) {
  for (const std::string_view text : {"", "{", "[]", "7", "{} x", R"({"model":{"vocab":{"a":)", "{\"a\":1,\"a\":2}",
                                      R"({"model":{"vocab":{"a":0},"vocab":{"b":1}}})", "{\"\xFF\":1}"}) {
    const Result<Vocabulary> vocabulary = ParseTokenizerJson(text, "", "t");
    ASSERT_FALSE(vocabulary.has_value()) << text;
    EXPECT_NE(vocabulary.error().code, Code::kInternal) << text;
  }
  const std::string deep(100'000, '[');
  EXPECT_THAT(ParseTokenizerJson(deep, "", "t").error().message, HasSubstr("nested deeper than 64 levels"));
}

TEST(TokenizerJsonTest, LargePartsAreOnlyThoseOfTheModel) {
  // "vocab" and "merges" elsewhere are ordinary JSON.
  const Result<Vocabulary> vocabulary = ReadChanged([](Json& tree) {
    tree["vocab"] = {{"a", "text"}};
    tree["padding"] = {{"model", {{"vocab", {1, 2}}}}, {"merges", {1}}};
  });
  EXPECT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
}

TEST(TokenizerJsonTest, SizesAreLimited) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Write("tokenizer.json", "{}");
  std::filesystem::resize_file(path, (size_t{256} << 20) + 1);
  EXPECT_EQ(ReadTokenizerJson(path).error().code, Code::kResourceExhausted);
}

TEST(TokenizerJsonTest, ReadsTheFullSize) {
  const Result<Vocabulary> vocabulary = ParseTokenizerJson(FullSizeTokenizerJson(), "", "t");
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->pieces.size(), 262'144u);
  EXPECT_EQ(vocabulary->merges.size(), 514'906u);
}

}  // namespace
}  // namespace quern::format
