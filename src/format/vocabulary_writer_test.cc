#include "format/vocabulary_writer.h"

#include <gtest/gtest.h>

#include "format/sample_files.h"

namespace quern::format {
namespace {

Vocabulary SmallBpe() {
  const TemporaryFolder folder;
  folder.Write("tokenizer_config.json", SmallTokenizerConfig());
  const auto vocabulary = ReadTokenizerJson(folder.Write("tokenizer.json", SmallTokenizerJson()));
  EXPECT_TRUE(vocabulary) << vocabulary.error().ToString();
  return *vocabulary;
}

// Score-based, with every type of piece.
Vocabulary SmallScored() {
  Vocabulary vocabulary;
  vocabulary.kind = VocabularyKind::kUnigram;
  const auto add = [&](std::string piece, float score, PieceType type) {
    vocabulary.pieces.push_back(std::move(piece));
    vocabulary.scores.push_back(score);
    vocabulary.types.push_back(type);
  };
  add("<pad>", 0, PieceType::kControl);
  add("<eos>", 0, PieceType::kControl);
  add("<bos>", 0, PieceType::kControl);
  add("<unk>", 0, PieceType::kUnknown);
  add("<unused0>", 0, PieceType::kUserDefined);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, PieceType::kByte);
  add("\xE2\x96\x81", -1.5f, PieceType::kNormal);
  add("a", -2.25f, PieceType::kNormal);
  add("\xE2\x96\x81"
      "a",
      -0.125f, PieceType::kNormal);
  vocabulary.pad = 0;
  vocabulary.eos = 1;
  vocabulary.bos = 2;
  vocabulary.unk = 3;
  vocabulary.add_bos = true;
  vocabulary.chat_template = "{{ bos_token }}";
  return vocabulary;
}

void ExpectSame(const Vocabulary& a, const Vocabulary& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.pieces, b.pieces);
  EXPECT_EQ(a.types, b.types);
  EXPECT_EQ(a.scores, b.scores);
  EXPECT_EQ(a.merges, b.merges);
  EXPECT_EQ(a.add_bos, b.add_bos);
  EXPECT_EQ(a.add_eos, b.add_eos);
  EXPECT_EQ(a.add_space_prefix, b.add_space_prefix);
  EXPECT_EQ(a.bos, b.bos);
  EXPECT_EQ(a.eos, b.eos);
  EXPECT_EQ(a.eot, b.eot);
  EXPECT_EQ(a.pad, b.pad);
  EXPECT_EQ(a.suppress, b.suppress);
  EXPECT_EQ(a.chat_template, b.chat_template);
}

Vocabulary ThroughGguf(const Vocabulary& vocabulary) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "vocabulary.gguf";
  GgufWriter writer;
  EXPECT_TRUE(WriteGgufVocabulary(vocabulary, &writer));
  EXPECT_TRUE(writer.Begin(path, AtomicFile::IfExists::kFail));
  EXPECT_TRUE(writer.Finish());
  const auto file = GgufFile::Open(path);
  EXPECT_TRUE(file) << file.error().ToString();
  const auto read = ReadGgufVocabulary(*file);
  EXPECT_TRUE(read) << read.error().ToString();
  return *read;
}

// <unk> becomes a control token in BPE files, as other converters write it; its id says what it is.
TEST(GgufVocabularyWriter, KeepsARankedVocabulary) {
  Vocabulary vocabulary = SmallBpe();
  vocabulary.suppress = {4, 5};
  const Vocabulary read = ThroughGguf(vocabulary);
  EXPECT_EQ(read.unk, vocabulary.unk);
  ExpectSame(read, vocabulary);
}

TEST(GgufVocabularyWriter, KeepsAScoredVocabulary) { ExpectSame(ThroughGguf(SmallScored()), SmallScored()); }

TEST(GgufVocabularyWriter, RefusesWhatGgufCannotSay) {
  Vocabulary viterbi = SmallScored();
  viterbi.kind = VocabularyKind::kViterbi;
  GgufWriter writer;
  EXPECT_EQ(WriteGgufVocabulary(viterbi, &writer).error().code, Code::kUnsupported);
  // The halves of a merge are found again at its first space.
  Vocabulary spaced = SmallBpe();
  spaced.merges.emplace_back("a b", "c");
  EXPECT_EQ(WriteGgufVocabulary(spaced, &writer).error().code, Code::kUnsupported);
}

TEST(HfVocabularyWriter, KeepsARankedVocabulary) {
  for (const bool add_eos : {false, true}) {
    const TemporaryFolder folder;
    Vocabulary vocabulary = SmallBpe();
    vocabulary.add_eos = add_eos;
    ASSERT_TRUE(WriteHfVocabulary(vocabulary, folder.path()));
    const auto read = ReadTokenizerJson(folder.path() / "tokenizer.json");
    ASSERT_TRUE(read) << read.error().ToString();
    ExpectSame(*read, vocabulary);
  }
}

TEST(HfVocabularyWriter, KeepsAScoredVocabulary) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteHfVocabulary(SmallScored(), folder.path()));
  const auto read = ReadSentencePieceModel(folder.path() / "tokenizer.model");
  ASSERT_TRUE(read) << read.error().ToString();
  ExpectSame(*read, SmallScored());
}

// JSON has no duplicate keys: of two equal pieces the later id stays, and ids do not move.
TEST(HfVocabularyWriter, KeepsTheLaterOfEqualPieces) {
  const TemporaryFolder folder;
  Vocabulary vocabulary = SmallBpe();
  vocabulary.pieces.push_back("a");
  vocabulary.types.push_back(PieceType::kNormal);
  const size_t first = static_cast<size_t>(std::ranges::find(vocabulary.pieces, "a") - vocabulary.pieces.begin());
  ASSERT_TRUE(WriteHfVocabulary(vocabulary, folder.path()));
  const auto read = ReadTokenizerJson(folder.path() / "tokenizer.json");
  ASSERT_TRUE(read) << read.error().ToString();
  ASSERT_EQ(read->pieces.size(), vocabulary.pieces.size());
  EXPECT_EQ(read->pieces.back(), "a");
  EXPECT_EQ(read->types[first], PieceType::kUnused);
}

TEST(HfVocabularyWriter, ReportsPiecesThatAreNotUtf8) {
  const TemporaryFolder folder;
  Vocabulary vocabulary = SmallBpe();
  vocabulary.pieces.back() = "\xFF";
  EXPECT_EQ(WriteHfVocabulary(vocabulary, folder.path()).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace quern::format
