// Encoding speed in bytes of text per second, on the demo vocabulary and on one of the published size (262,144 entries,
// some 500,000 merges) made by code: all words of up to three syllables, each split in every way that its parts allow,
// as merges converted from SentencePiece are. Texts: lines of words, one 1 MB line of them, 1 MB without spaces, 1 MB
// of one letter.
#include <cmath>
#include <random>
#include <set>

#include <benchmark/benchmark.h>

#include "text/demo_vocabulary.h"
#include "text/tokenizer.h"

namespace quern::text {
namespace {

using format::Vocabulary;

constexpr size_t kEntries = 262144, kTextBytes = 1 << 20;

// 62 syllables.
std::vector<std::string> Syllables() {
  std::vector<std::string> syllables;
  for (const char consonant : std::string_view("tnsrhldcmpgbf")) {
    for (const char vowel : std::string_view("eaoiu")) syllables.push_back({consonant, vowel});
  }
  syllables.resize(62);
  return syllables;
}

std::string RandomWord(std::mt19937_64& random) {
  static const std::vector<std::string> syllables = Syllables();
  std::string word;
  for (size_t count = 1 + random() % 4; count > 0; --count) word += syllables[random() % syllables.size()];
  if (random() % 3 == 0) word += "snt"[random() % 3];
  return word;
}

std::string Han(size_t index) {
  const size_t code_point = 0x4E00 + index;
  return {static_cast<char>(0xE0 | code_point >> 12), static_cast<char>(0x80 | (code_point >> 6 & 0x3F)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

Vocabulary LargeVocabulary() {
  std::vector<std::string> pieces = {"\u2581", "\n", ","};
  for (char letter = 'a'; letter <= 'z'; ++letter) pieces.emplace_back(1, letter);
  for (std::string run = "aa"; run.size() <= 32; run += run) pieces.push_back(run);  // one letter merges deeply too
  const std::vector<std::string> one = Syllables();
  std::vector<std::string> two, three;
  for (const std::string& a : one) {
    for (const std::string& b : one) two.push_back(a + b);
  }
  for (const std::string& a : two) {
    for (const std::string& b : one) three.push_back(a + b);
  }
  const std::vector<std::string>* const bare[] = {&one, &two, &three};
  const std::vector<std::string>* const spaced[] = {&one, &two};
  for (const auto* words : bare) pieces.insert(pieces.end(), words->begin(), words->end());
  for (const auto* words : spaced) {
    for (const std::string& word : *words) pieces.push_back("\u2581" + word);
  }
  for (size_t i = 0; i < 4000; ++i) pieces.push_back(Han(i));
  for (size_t i = 0; pieces.size() + 256 < kEntries; ++i) pieces.push_back(Han(i % 4000) + Han(i / 4000));
  const std::set<std::string> known(pieces.begin(), pieces.end());
  Vocabulary vocabulary = testing::ByteVocabulary(pieces);
  for (const std::string& piece : pieces) {
    for (size_t cut = piece.size() - 1; cut > 0; --cut) {
      if (known.contains(piece.substr(0, cut)) && known.contains(piece.substr(cut))) {
        vocabulary.merges.emplace_back(piece.substr(0, cut), piece.substr(cut));
      }
    }
  }
  return vocabulary;
}

const Vocabulary& VocabularyOf(bool large) {
  static const Vocabulary demo = testing::DemoVocabulary();
  static const Vocabulary big = LargeVocabulary();
  return large ? big : demo;
}

// The same words with scores by rank of creation: what a "llama" vocabulary of that size looks like.
Vocabulary ScoreVocabulary() {
  Vocabulary vocabulary = VocabularyOf(true);
  vocabulary.kind = format::VocabularyKind::kUnigram;
  for (size_t id = 0; id < vocabulary.pieces.size(); ++id) vocabulary.scores[id] = -static_cast<float>(id);
  vocabulary.merges.clear();
  return vocabulary;
}

enum Text { kLines, kOneLine, kNoSpaces, kOneLetter };

std::string MakeText(Text kind) {
  if (kind == kOneLetter) return std::string(kTextBytes, 'a');
  std::mt19937_64 random(8);
  std::vector<std::string> common;
  for (int i = 0; i < 2000; ++i) common.push_back(RandomWord(random));
  std::string text;
  for (size_t words = 0; text.size() < kTextBytes; ++words) {
    // Common words by a rough law of Zipf; one word in eight is new, as names are.
    const double u = static_cast<double>(random() % 1000000) / 1000000;
    text += random() % 8 == 0 ? RandomWord(random) : common[static_cast<size_t>(std::pow(2000.0, u)) - 1];
    if (kind == kNoSpaces) continue;
    if (random() % 9 == 0) text += ',';
    text += kind == kLines && words % 14 == 13 ? '\n' : ' ';
  }
  return text;
}

void Encode(benchmark::State& state, const Vocabulary& vocabulary, Text kind) {
  const auto tokenizer = MakeTokenizer(vocabulary);
  const std::string text = MakeText(kind);
  std::vector<TokenId> ids;
  for (auto _ : state) {
    ids.clear();
    (*tokenizer)->Encode(text, ParseSpecial::kNo, &ids);
    benchmark::DoNotOptimize(ids.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["merges"] = static_cast<double>(vocabulary.merges.size());
  state.counters["bytes_per_token"] = static_cast<double>(text.size()) / static_cast<double>(ids.size());
}

void Load(benchmark::State& state, const Vocabulary& vocabulary) {
  for (auto _ : state) {
    state.PauseTiming();
    Vocabulary copy = vocabulary;
    state.ResumeTiming();
    auto tokenizer = MakeTokenizer(std::move(copy));
    benchmark::DoNotOptimize(tokenizer);
    state.PauseTiming();
    tokenizer->reset();
    state.ResumeTiming();
  }
}

void BM_DemoBpe(benchmark::State& state) { Encode(state, VocabularyOf(false), static_cast<Text>(state.range(0))); }
void BM_LargeBpe(benchmark::State& state) { Encode(state, VocabularyOf(true), static_cast<Text>(state.range(0))); }
void BM_LargeScore(benchmark::State& state) { Encode(state, ScoreVocabulary(), static_cast<Text>(state.range(0))); }
void BM_LoadLargeBpe(benchmark::State& state) { Load(state, VocabularyOf(true)); }
void BM_LoadLargeScore(benchmark::State& state) { Load(state, ScoreVocabulary()); }

BENCHMARK(BM_DemoBpe)->DenseRange(kLines, kOneLetter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LargeBpe)->DenseRange(kLines, kOneLetter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LargeScore)->DenseRange(kLines, kOneLetter)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LoadLargeBpe)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LoadLargeScore)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace quern::text
