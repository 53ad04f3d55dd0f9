// Proves: cutting, caching and the heap change nothing. Random small vocabularies (ranks in any order, products and
// halves that are no entries, duplicate merges) and random texts against the definition, written as naively as
// possible.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "text/demo_vocabulary.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace quern::text {
namespace {

using format::Vocabulary;

// The definition: strings, and a scan over all pairs for every merge.
class NaiveBpe {
 public:
  explicit NaiveBpe(const Vocabulary& vocabulary) {
    for (size_t id = 0; id < vocabulary.pieces.size(); ++id) {
      if (vocabulary.types[id] == format::PieceType::kNormal) ids_[vocabulary.pieces[id]] = static_cast<TokenId>(id);
      if (vocabulary.types[id] == format::PieceType::kByte) bytes_.push_back(static_cast<TokenId>(id));
    }
    for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) ranks_[vocabulary.merges[rank]] = rank;
  }

  std::vector<TokenId> Encode(std::string_view text) const {
    std::vector<TokenId> ids;
    const std::string escaped = EscapeSpaces(text);
    for (size_t at = 0; at < escaped.size();) {
      size_t end = at + 1;
      while (end < escaped.size() && (escaped[end] == '\n') == (escaped[at] == '\n')) ++end;
      EncodeRun(escaped.substr(at, end - at), &ids);
      at = end;
    }
    return ids;
  }

 private:
  void EncodeRun(const std::string& run, std::vector<TokenId>* ids) const {
    if (run[0] == '\n' && ids_.contains(run)) return ids->push_back(ids_.at(run));
    std::vector<std::string> parts;
    for (size_t at = 0; at < run.size();) {
      const Utf8Step step = NextUtf8(std::string_view(run).substr(at));
      const size_t length = step.state == Utf8State::kComplete ? step.length : 1;
      parts.push_back(run.substr(at, length));
      at += length;
    }
    while (true) {
      size_t best = parts.size(), best_rank = ranks_.size() + ids_.size() + 1000000;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find({parts[i], parts[i + 1]});
        if (found == ranks_.end() || found->second >= best_rank) continue;
        best = i;
        best_rank = found->second;
      }
      if (best == parts.size()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    for (const std::string& part : parts) {
      if (ids_.contains(part)) {
        ids->push_back(ids_.at(part));
      } else {
        for (const char byte : part) ids->push_back(bytes_[static_cast<uint8_t>(byte)]);
      }
    }
  }

  std::map<std::string, TokenId> ids_;
  std::vector<TokenId> bytes_;
  std::map<std::pair<std::string, std::string>, size_t> ranks_;
};

const std::vector<std::string> kAlphabet = {"a", "b", "c", "\u2581", "\n", "é", "漢", "😀"};

// Merges of strings that earlier merges made, in an order that is then partly shuffled.
Vocabulary RandomVocabulary(std::mt19937& random) {
  std::vector<std::string> strings(kAlphabet.begin(), kAlphabet.begin() + 2 + random() % (kAlphabet.size() - 1));
  std::vector<std::pair<std::string, std::string>> merges;
  for (size_t count = random() % 40; merges.size() < count;) {
    const auto& left = strings[random() % strings.size()];
    const auto& right = strings[random() % strings.size()];
    if (left.size() + right.size() > 24) continue;
    merges.emplace_back(left, right);
    strings.push_back(left + right);
  }
  for (size_t swaps = random() % 8; swaps > 0 && !merges.empty(); --swaps) {
    std::swap(merges[random() % merges.size()], merges[random() % merges.size()]);
  }
  std::vector<std::string> pieces;
  for (const std::string& piece : strings) {
    if (random() % 8 != 0) pieces.push_back(piece);  // one in eight is named by merges only
  }
  Vocabulary vocabulary = testing::ByteVocabulary(pieces);
  vocabulary.merges = merges;
  return vocabulary;
}

std::string RandomText(std::mt19937& random, size_t max_symbols) {
  std::string text;
  const size_t symbols = random() % max_symbols;
  for (size_t i = 0; i < symbols; ++i) {
    const size_t pick = random() % (kAlphabet.size() + 2);
    if (pick < kAlphabet.size()) {
      text += kAlphabet[pick];
    } else {
      text += pick == kAlphabet.size() ? " " : (random() % 4 == 0 ? "\xE6\xBC" : "z");
    }
  }
  return text;
}

TEST(BpeProperty, EqualsTheDefinitionOnRandomVocabularies) {
  std::mt19937 random(2);
  for (int round = 0; round < 1500; ++round) {
    const Vocabulary vocabulary = RandomVocabulary(random);
    const NaiveBpe naive(vocabulary);
    const auto tokenizer = MakeTokenizer(vocabulary);
    ASSERT_TRUE(tokenizer);
    for (int text_index = 0; text_index < 12; ++text_index) {
      const std::string text = RandomText(random, 60);
      ASSERT_EQ((*tokenizer)->Encode(text, ParseSpecial::kNo), naive.Encode(text)) << "round " << round << ": " << text;
    }
    // Long enough for the segment cache.
    const std::string text = RandomText(random, 700);
    ASSERT_EQ((*tokenizer)->Encode(text, ParseSpecial::kNo), naive.Encode(text)) << "round " << round;
  }
}

TEST(BpeProperty, EqualsTheDefinitionOnTheDemoVocabulary) {
  const Vocabulary vocabulary = testing::DemoVocabulary();
  const NaiveBpe naive(vocabulary);
  const auto tokenizer = MakeTokenizer(vocabulary);
  ASSERT_TRUE(tokenizer);
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (size_t pieces = 1 + random() % 120; pieces > 0; --pieces) {
      text += (*tokenizer)->TokenBytes(static_cast<TokenId>(random() % (*tokenizer)->size()));
    }
    ASSERT_EQ((*tokenizer)->Encode(text, ParseSpecial::kNo), naive.Encode(text)) << text;
  }
}

TEST(BpeProperty, IllFormedBytesCutNothingElse) {
  const auto tokenizer = MakeTokenizer(testing::DemoVocabulary());
  ASSERT_TRUE(tokenizer);
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t length = random() % 40; length > 0; --length) text += static_cast<char>(random() % 256);
    ASSERT_EQ((*tokenizer)->Decode((*tokenizer)->Encode(text, ParseSpecial::kNo)), UnescapeSpaces(text));
  }
}

}  // namespace
}  // namespace quern::text
