#include "make_model/synthetic_vocabulary.h"

#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"

namespace quern::tools {
namespace {

using format::PieceType;

constexpr int kNumPieces = 262144;
constexpr size_t kNumMerges = 514906;
constexpr int kFirstNewline = 107, kNumNewlines = 31;
constexpr int kFirstSpaces = 138, kNumSpaces = 30;  // runs of 2 to 31
constexpr int kFirstByte = 238;
constexpr int kFirstWord = 494, kFirstSingle = 236743, kFirstTabs = 255968, kNumTabs = 31;
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

struct Special {
  int id;
  std::string_view piece;
  PieceType type;
};
constexpr Special kSpecials[] = {
    {0, "<pad>", PieceType::kControl},
    {1, "<eos>", PieceType::kControl},
    {2, "<bos>", PieceType::kControl},
    {3, "<unk>", PieceType::kUnknown},
    {4, "<mask>", PieceType::kControl},
    {46, "<|tool>", PieceType::kControl},
    {47, "<tool|>", PieceType::kControl},
    {48, "<|tool_call>", PieceType::kUserDefined},
    {49, "<tool_call|>", PieceType::kUserDefined},
    {50, "<|tool_response>", PieceType::kUserDefined},
    {51, "<tool_response|>", PieceType::kUserDefined},
    {52, "<|\"|>", PieceType::kUserDefined},
    {98, "<|think|>", PieceType::kControl},
    {100, "<|channel>", PieceType::kUserDefined},
    {101, "<channel|>", PieceType::kUserDefined},
    {105, "<|turn>", PieceType::kControl},
    {106, "<turn|>", PieceType::kControl},
    {212, "</s>", PieceType::kNormal},
    {255999, "<|image>", PieceType::kControl},
    {256000, "<|audio>", PieceType::kControl},
    {258880, "<|image|>", PieceType::kControl},
    {258881, "<|audio|>", PieceType::kControl},
    {258882, "<image|>", PieceType::kControl},
    {258883, "<audio|>", PieceType::kControl},
    {258884, "<|video|>", PieceType::kControl},
};

constexpr std::string_view kTemplate =
    "{{ bos_token }}{% for m in messages %}<|turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n"
    "{{ m['content'] | trim }}<turn|>\n{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}";

std::string Repeat(std::string_view text, int count) {
  std::string run;
  for (int i = 0; i < count; ++i) run += text;
  return run;
}

std::string Utf8(uint32_t code_point) {
  std::string text;
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | code_point >> 6);
    text += static_cast<char>(0x80 | (code_point & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | code_point >> 12);
    text += static_cast<char>(0x80 | (code_point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code_point & 0x3F));
  }
  return text;
}

class Builder {
 public:
  Builder() {
    vocabulary_.pieces.resize(kNumPieces);
    vocabulary_.types.assign(kNumPieces, PieceType::kNormal);
  }

  format::Vocabulary Build() {
    for (const Special& special : kSpecials) Set(special.id, std::string(special.piece), special.type);
    for (int byte = 0; byte < 256; ++byte) Set(kFirstByte + byte, fmt::format("<0x{:02X}>", byte), PieceType::kByte);
    AddRuns("\n", kFirstNewline, 1, kNumNewlines);
    AddRuns(kSpaceMark, kFirstSpaces, 2, kNumSpaces);
    AddSingles();
    AddRuns("\t", kFirstTabs, 2, kNumTabs - 1);
    AddWords();
    AddOtherSplits();
    int unused = 0;
    for (int id = 0; id < kNumPieces; ++id) {
      if (vocabulary_.pieces[id].empty()) vocabulary_.pieces[id] = fmt::format("<unused{}>", unused++);
    }
    vocabulary_.bos = 2;
    vocabulary_.eos = 1;
    vocabulary_.eot = 106;
    vocabulary_.unk = 3;
    vocabulary_.pad = 0;
    vocabulary_.add_bos = true;
    vocabulary_.chat_template = kTemplate;
    return std::move(vocabulary_);
  }

 private:
  void Set(int id, std::string piece, PieceType type = PieceType::kNormal) {
    ids_.emplace(piece, id);
    vocabulary_.pieces[id] = std::move(piece);
    vocabulary_.types[id] = type;
  }
  void Merge(std::string_view left, std::string_view right) {
    if (vocabulary_.merges.size() < kNumMerges) vocabulary_.merges.emplace_back(left, right);
  }

  // Runs of `shortest`, shortest + 1, ... of one character, each merged from the run before it and the character.
  void AddRuns(std::string_view unit, int first_id, int shortest, int count) {
    for (int i = 0; i < count; ++i) {
      Set(first_id + i, Repeat(unit, shortest + i));
      if (shortest + i > 1) Merge(Repeat(unit, shortest + i - 1), unit);
    }
  }

  // Single characters: "▁", printable ASCII and tab, then code points from U+00A1 on, as many as there are ids.
  void AddSingles() {
    int id = kFirstSingle;
    Set(id++, std::string(kSpaceMark));
    Set(id++, "\t");
    for (uint32_t code_point = '!'; code_point <= '~'; ++code_point) Set(id++, Utf8(code_point));
    for (uint32_t code_point = 0xA1; id < kFirstTabs; ++code_point) {
      const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
      if (Utf8(code_point) != kSpaceMark && !is_surrogate) Set(id++, Utf8(code_point));
    }
  }

  // All pieces of two and three letters (the first may be "▁"), then of four, until the ids are used up.
  void AddWords() {
    std::vector<std::string> shorter = {std::string(kSpaceMark)};
    for (char c = 'a'; c <= 'z'; ++c) shorter.emplace_back(1, c);
    for (int id = kFirstWord; id < kFirstSingle;) {
      std::vector<std::string> longer;
      for (const std::string& prefix : shorter) {
        for (char c = 'a'; c <= 'z' && id < kFirstSingle; ++c) {
          longer.push_back(prefix + c);
          Merge(prefix, std::string(1, c));
          Set(id++, longer.back());
        }
      }
      shorter = std::move(longer);
    }
  }

  // Real vocabularies have several ways to most words. All halves exist as pieces.
  void AddOtherSplits() {
    for (size_t from_end = 2; from_end <= 3; ++from_end) {
      for (int id = kFirstWord; id < kFirstSingle && vocabulary_.merges.size() < kNumMerges; ++id) {
        const std::string& word = vocabulary_.pieces[id];
        if (word.size() <= from_end) continue;
        const std::string left = word.substr(0, word.size() - from_end), right = word.substr(word.size() - from_end);
        if (ids_.contains(left) && ids_.contains(right)) Merge(left, right);
      }
    }
    QUERN_CHECK(vocabulary_.merges.size() == kNumMerges);
  }

  format::Vocabulary vocabulary_;
  std::unordered_map<std::string, int> ids_;
};

}  // namespace

format::Vocabulary MakeSyntheticVocabulary() { return Builder().Build(); }

}  // namespace quern::tools
