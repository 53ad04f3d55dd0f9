// Proves: tokenizer.ggml.* keys give the vocabulary that the strings mean, whatever the file says about types, and
// contradictions are refused.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/gguf_writer.h"
#include "format/sample_files.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::string_view kTokens[] = {"<pad>",  "<eos>", "<bos>", "<unk>", "<|tool_response>", "<turn|>", "</s>",
                                        "<0x0A>", "a",     "b",     "ab"};
// As in published files: 50 (<|tool_response>) and 212 (</s>) are marked as control, and here the byte as normal.
constexpr int32_t kTypes[] = {3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1};

// Writes a gemma4 vocabulary, changed by `change`, and reads it back.
Result<Vocabulary> ReadChanged(const std::function<void(GgufWriter&)>& change = [](GgufWriter&) {}) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.SetString("tokenizer.ggml.model", "gemma4");
  writer.SetStrings("tokenizer.ggml.tokens", kTokens);
  writer.SetInt32s("tokenizer.ggml.token_type", kTypes);
  writer.SetStrings("tokenizer.ggml.merges", std::vector<std::string_view>{"a b"});
  writer.SetUint32("tokenizer.ggml.bos_token_id", 2);
  writer.SetUint32("tokenizer.ggml.eos_token_id", 1);
  writer.SetUint32("tokenizer.ggml.eot_token_id", 5);
  writer.SetUint32("tokenizer.ggml.unknown_token_id", 3);
  writer.SetUint32("tokenizer.ggml.padding_token_id", 0);
  writer.SetInt32s("tokenizer.ggml.suppress_tokens", std::vector<int32_t>{6, 8});
  writer.SetString("tokenizer.chat_template", "template");
  change(writer);
  QUERN_TRY(writer.Begin(folder.path() / "v.gguf", AtomicFile::IfExists::kFail));
  QUERN_TRY(writer.Finish());
  QUERN_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(folder.path() / "v.gguf"));
  return ReadGgufVocabulary(file);
}

void ExpectFailure(Code code, std::string_view message, const std::function<void(GgufWriter&)>& change) {
  const Result<Vocabulary> vocabulary = ReadChanged(change);
  ASSERT_FALSE(vocabulary.has_value()) << "expected: " << message;
  EXPECT_EQ(vocabulary.error().code, code) << vocabulary.error().ToString();
  EXPECT_THAT(vocabulary.error().ToString(), HasSubstr(std::string(message)));
}

TEST(GgufVocabularyTest, ReadsGemma4) {
  const Result<Vocabulary> vocabulary = ReadChanged();
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->kind, VocabularyKind::kBpe);
  EXPECT_THAT(vocabulary->pieces, ::testing::ElementsAreArray(kTokens));
  EXPECT_THAT(vocabulary->merges, ::testing::ElementsAre(Pair("a", "b")));
  EXPECT_TRUE(vocabulary->scores.empty());
  EXPECT_EQ(vocabulary->bos, 2);
  EXPECT_EQ(vocabulary->eos, 1);
  EXPECT_EQ(vocabulary->eot, 5);
  EXPECT_EQ(vocabulary->unk, 3);
  EXPECT_EQ(vocabulary->pad, 0);
  EXPECT_THAT(vocabulary->suppress, ::testing::ElementsAre(6, 8));
  EXPECT_EQ(vocabulary->chat_template, "template");
  EXPECT_TRUE(vocabulary->add_bos);
  EXPECT_FALSE(vocabulary->add_eos);
  EXPECT_FALSE(vocabulary->add_space_prefix);
}

TEST(GgufVocabularyTest, MendsTypes) {
  const Result<Vocabulary> vocabulary = ReadChanged();
  ASSERT_TRUE(vocabulary.has_value());
  using enum PieceType;
  EXPECT_THAT(vocabulary->types, ::testing::ElementsAre(kControl, kControl, kControl, kUnknown, kUserDefined, kControl,
                                                        kNormal, kByte, kNormal, kNormal, kNormal));
  // Where it is declared as the end, "</s>" is one.
  EXPECT_EQ(ReadChanged([](GgufWriter& w) { w.SetUint32("tokenizer.ggml.eos_token_id", 6); })->types[6],
            PieceType::kControl);
}

TEST(GgufVocabularyTest, ReadsLlama) {
  const Result<Vocabulary> vocabulary = ReadChanged([](GgufWriter& writer) {
    writer.SetString("tokenizer.ggml.model", "llama");
    writer.SetString("tokenizer.ggml.pre", "default");
    writer.SetFloat32s("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, -1, -2, -3});
    writer.SetBool("tokenizer.ggml.add_bos_token", false);
    writer.SetBool("tokenizer.ggml.add_eos_token", true);
  });
  ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().ToString();
  EXPECT_EQ(vocabulary->kind, VocabularyKind::kUnigram);
  EXPECT_EQ(vocabulary->scores[10], -3);
  EXPECT_TRUE(vocabulary->merges.empty());
  EXPECT_FALSE(vocabulary->add_bos);
  EXPECT_TRUE(vocabulary->add_eos);
  EXPECT_TRUE(vocabulary->add_space_prefix);  // unless the file says otherwise, as Gemma's do
  EXPECT_FALSE(ReadChanged([](GgufWriter& writer) {
                 writer.SetString("tokenizer.ggml.model", "llama");
                 writer.SetFloat32s("tokenizer.ggml.scores", std::vector<float>(11));
                 writer.SetBool("tokenizer.ggml.add_space_prefix", false);
               })->add_space_prefix);
}

TEST(GgufVocabularyTest, RefusesOtherModels) {
  ExpectFailure(Code::kUnsupported, "tokenizer.ggml.model \"gpt2\"",
                [](GgufWriter& w) { w.SetString("tokenizer.ggml.model", "gpt2"); });
  ExpectFailure(Code::kUnsupported, "tokenizer.ggml.pre \"qwen2\"",
                [](GgufWriter& w) { w.SetString("tokenizer.ggml.pre", "qwen2"); });
  ExpectFailure(Code::kUnsupported, "remove_extra_whitespaces",
                [](GgufWriter& w) { w.SetBool("tokenizer.ggml.remove_extra_whitespaces", true); });
  const std::string no_tokenizer = SmallGguf();
  const Result<GgufFile> file = GgufFile::Parse(std::as_bytes(std::span(no_tokenizer)));
  EXPECT_EQ(ReadGgufVocabulary(*file).error().code, Code::kNotFound);
}

TEST(GgufVocabularyTest, RefusesContradictions) {
  ExpectFailure(Code::kCorrupt, "token_type has 2 entries for 11 tokens", [](GgufWriter& w) {
    w.SetInt32s("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1});
  });
  ExpectFailure(Code::kCorrupt, "token_type holds 9",
                [](GgufWriter& w) { w.SetInt32s("tokenizer.ggml.token_type", std::vector<int32_t>(11, 9)); });
  ExpectFailure(Code::kCorrupt, "tokens is missing or empty",
                [](GgufWriter& w) { w.SetStrings("tokenizer.ggml.tokens", {}); });
  ExpectFailure(Code::kCorrupt, "merges[0] \"ab\" has no space",
                [](GgufWriter& w) { w.SetStrings("tokenizer.ggml.merges", std::vector<std::string_view>{"ab"}); });
  ExpectFailure(Code::kCorrupt, "the eos token has id 11 in a vocabulary of 11 pieces",
                [](GgufWriter& w) { w.SetUint32("tokenizer.ggml.eos_token_id", 11); });
  ExpectFailure(Code::kCorrupt, "bos_token_id is 4294967295",
                [](GgufWriter& w) { w.SetUint32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF); });
  ExpectFailure(Code::kCorrupt, "the suppressed token has id -1",
                [](GgufWriter& w) { w.SetInt32s("tokenizer.ggml.suppress_tokens", std::vector<int32_t>{-1}); });
  ExpectFailure(Code::kCorrupt, "scores has 0 entries for 11 tokens",
                [](GgufWriter& w) { w.SetString("tokenizer.ggml.model", "llama"); });
  ExpectFailure(Code::kCorrupt, "an array of strings was expected",
                [](GgufWriter& w) { w.SetString("tokenizer.ggml.tokens", "a"); });
}

}  // namespace
}  // namespace quern::format
