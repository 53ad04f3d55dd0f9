#include "format/sample_files.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "format/gguf_writer.h"

namespace quern::format {
namespace {

constexpr int kNumBytePieces = 256;
constexpr std::string_view kSpecials[] = {"<pad>",  "<eos>",        "<bos>",   "<unk>",
                                          "<mask>", "<|tool_call>", "<|turn>", "<turn|>"};

// Pieces by id: the specials, the bytes, then made-up words that are all different and of the usual lengths.
std::vector<std::string> MakePieces(int num_pieces) {
  std::vector<std::string> pieces(std::begin(kSpecials), std::end(kSpecials));
  for (int byte = 0; byte < kNumBytePieces; ++byte) pieces.push_back(fmt::format("<0x{:02X}>", byte));
  std::mt19937 random(1);
  while (static_cast<int>(pieces.size()) < num_pieces) {
    // The number in base 26 makes the word unique; a random head gives lengths of 3 to 12 letters.
    std::string word = random() % 2 == 0 ? "\xE2\x96\x81" : "";
    for (uint32_t letters = random() % 8; letters > 0; --letters) word += static_cast<char>('A' + random() % 26);
    for (size_t number = pieces.size(); number > 0; number /= 26) word += static_cast<char>('a' + number % 26);
    pieces.push_back(std::move(word));
  }
  pieces.resize(num_pieces);
  return pieces;
}

// "left" and "right" of merge `rank`: a word cut in two.
std::pair<std::string_view, std::string_view> MakeMerge(const std::vector<std::string>& pieces, int rank) {
  const size_t first_word = std::size(kSpecials) + kNumBytePieces;
  const std::string_view word = pieces[first_word + rank % (pieces.size() - first_word)];
  // Behind the "▁" (three bytes) where there is one; every word has at least one letter after it.
  const size_t cut = word.starts_with("\xE2\x96\x81") ? 3 : 1;
  return cut < word.size() ? std::pair(word.substr(0, cut), word.substr(cut)) : std::pair(word, word);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "quern-format-XXXXXX").string();
  QUERN_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::Write(std::string_view name, std::string_view content) const {
  const std::filesystem::path path = path_ / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

GgufBytes& GgufBytes::Header(uint32_t version, uint64_t num_tensors, uint64_t num_keys) {
  text_ += "GGUF";
  return U32(version).U64(num_tensors).U64(num_keys);
}

GgufBytes& GgufBytes::String(std::string_view text) {
  U64(text.size());
  text_ += text;
  return *this;
}

GgufBytes& GgufBytes::Tensor(std::string_view name, std::initializer_list<uint64_t> dims, uint32_t ggml_type,
                             uint64_t offset) {
  String(name).U32(static_cast<uint32_t>(dims.size()));
  for (const uint64_t dim : dims) U64(dim);
  return U32(ggml_type).U64(offset);
}

GgufBytes& GgufBytes::PadTo(size_t alignment) { return Zeros((alignment - text_.size() % alignment) % alignment); }

GgufBytes& GgufBytes::Zeros(size_t count) {
  text_.append(count, '\0');
  return *this;
}

std::string SmallGguf() {
  using enum GgufType;
  GgufBytes file;
  file.Header(3, 3, 16);
  file.Key("u8", kUint8)
      .U8(8)
      .Key("i8", kInt8)
      .U8(0xFF)
      .Key("u16", kUint16)
      .U8(1)
      .U8(2)
      .Key("i16", kInt16)
      .U8(0)
      .U8(0x80);
  file.Key("u32", kUint32).U32(32).Key("i32", kInt32).U32(0xFFFFFFFF).Key("f32", kFloat32).F32(0.5f);
  file.Key("bool", kBool).U8(1).Key("string", kString).String("text").Key("u64", kUint64).U64(64);
  file.Key("i64", kInt64).U64(~uint64_t{0}).Key("f64", kFloat64).U64(0x3FF8000000000000);
  file.Key("general.alignment", kUint32).U32(16);
  file.Key("a.i32", kArray).U32(5).U64(2).U32(7).U32(8);
  file.Key("a.bool", kArray).U32(7).U64(3).U8(1).U8(0).U8(1);
  file.Key("a.string", kArray).U32(8).U64(2).String("one").String("");
  file.Tensor("matrix", {3, 2}, 0, 0).Tensor("blocks", {32, 2}, 8, 32).Tensor("token", {1}, 26, 112);
  return file.PadTo(16).Zeros(24).PadTo(16).Zeros(68).PadTo(16).Zeros(4).text();
}

std::string SmallSafetensors() {
  std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
      R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},"c":{"dtype":"BOOL","shape":[],"data_offsets":[32,33]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  return GgufBytes().U64(header.size()).text() + header + std::string(33, '\1');
}

std::string SmallTokenizerJson(MergeForm form) {
  Json vocab = Json::object();
  for (const std::string& piece : MakePieces(std::size(kSpecials) + kNumBytePieces)) vocab[piece] = vocab.size();
  for (const std::string_view piece : {"\xE2\x96\x81", "a", "b", "ab",
                                       "\xE2\x96\x81"
                                       "ab",
                                       "\n"})
    vocab[piece] = vocab.size();
  Json merges = Json::array();
  for (const auto& [left, right] : {std::pair("a", "b"), std::pair("\xE2\x96\x81", "ab")}) {
    if (form == MergeForm::kPairs) {
      merges.push_back({left, right});
    } else {
      merges.push_back(fmt::format("{} {}", left, right));
    }
  }
  Json added = Json::array();
  for (size_t id = 0; id < std::size(kSpecials); ++id) {
    added.push_back(
        {{"id", id}, {"content", kSpecials[id]}, {"special", true}, {"lstrip", false}, {"normalized", false}});
  }
  added.push_back({{"id", vocab.size()}, {"content", "<custom>"}, {"special", false}});
  const Json space = {{"String", " "}};
  const Json bos = {{"SpecialToken", {{"id", "<bos>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return Json{
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", {{"type", "Replace"}, {"pattern", space}, {"content", "\xE2\x96\x81"}}},
      {"pre_tokenizer", {{"type", "Split"}, {"pattern", space}, {"behavior", "MergedWithPrevious"}, {"invert", false}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", Json::array({bos, text})},
        {"special_tokens", {{"<bos>", {{"id", "<bos>"}, {"ids", {2}}, {"tokens", {"<bos>"}}}}}}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders",
         {{{"type", "Replace"}, {"pattern", {{"String", "\xE2\x96\x81"}}}, {"content", " "}},
          {{"type", "ByteFallback"}},
          {{"type", "Fuse"}}}}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", "<unk>"},
        {"byte_fallback", true},
        {"ignore_merges", false},
        {"vocab", vocab},
        {"merges", merges}}}}
      .dump();
}

std::string SmallTokenizerConfig() {
  return R"({"bos_token":"<bos>","eos_token":{"content":"<eos>","special":true},"eot_token":"<turn|>","pad_token":"<pad>",)"
         R"("add_bos_token":true,"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}],)"
         R"("model_max_length":8192})";
}

std::string SmallVocabularyGguf() {
  using enum GgufType;
  GgufBytes file;
  file.Header(3, 0, 7).Key("tokenizer.ggml.model", kString).String("gemma4");
  file.Key("tokenizer.ggml.tokens", kArray)
      .U32(8)
      .U64(5)
      .String("<bos>")
      .String("a")
      .String("b")
      .String("ab")
      .String("<0x0A>");
  file.Key("tokenizer.ggml.token_type", kArray).U32(5).U64(5).U32(3).U32(1).U32(1).U32(1).U32(6);
  file.Key("tokenizer.ggml.merges", kArray).U32(8).U64(1).String("a b");
  file.Key("tokenizer.ggml.bos_token_id", kUint32).U32(0).Key("tokenizer.ggml.add_bos_token", kBool).U8(1);
  return file.Key("tokenizer.ggml.suppress_tokens", kArray).U32(5).U64(1).U32(3).text();
}

std::string SmallSentencePieceModel() {
  const auto message = [](char field, std::string_view content) {
    return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(content.size())} + std::string(content);
  };
  std::string model;
  for (const auto& [piece, type] : {std::pair("<unk>", 2), {"<s>", 3}, {"</s>", 3}, {"<0x41>", 6}, {"a", 1}}) {
    // 1: piece, 2: score -1.0f, 3: type.
    model += message(1, message(1, piece) + std::string("\x15\x00\x00\x80\xBF\x18", 6) + static_cast<char>(type));
  }
  model += message(2, std::string("\x18\x02", 2));                // trainer_spec: model_type BPE
  return model + message(3, std::string("\x18\x00\x20\x00", 4));  // normalizer_spec: no prefix, no collapsing
}

std::string FullSizeTokenizerJson(VocabularySize size) {
  const std::vector<std::string> pieces = MakePieces(size.num_pieces);
  std::string text = "{\n  \"version\": \"1.0\",\n  \"added_tokens\": [";
  for (size_t id = 0; id < std::size(kSpecials); ++id) {
    text += fmt::format("{}\n    {{\"id\": {}, \"content\": \"{}\", \"special\": true}}", id == 0 ? "" : ",", id,
                        kSpecials[id]);
  }
  text +=
      "\n  ],\n  \"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": "
      "\"\xE2\x96\x81\"},\n";
  text += "  \"model\": {\n    \"type\": \"BPE\",\n    \"byte_fallback\": true,\n    \"vocab\": {";
  for (size_t id = 0; id < pieces.size(); ++id) {
    text += fmt::format("{}\n      \"{}\": {}", id == 0 ? "" : ",", pieces[id], id);
  }
  text += "\n    },\n    \"merges\": [";
  for (int rank = 0; rank < size.num_merges; ++rank) {
    const auto [left, right] = MakeMerge(pieces, rank);
    text += fmt::format("{}\n      [\n        \"{}\",\n        \"{}\"\n      ]", rank == 0 ? "" : ",", left, right);
  }
  return text + "\n    ]\n  }\n}\n";
}

Status WriteFullSizeGguf(const std::filesystem::path& path, VocabularySize size) {
  const std::vector<std::string> pieces = MakePieces(size.num_pieces);
  std::vector<std::string> merges;
  for (int rank = 0; rank < size.num_merges; ++rank) {
    const auto [left, right] = MakeMerge(pieces, rank);
    merges.push_back(fmt::format("{} {}", left, right));
  }
  GgufWriter writer;
  writer.SetString("general.architecture", "gemma4");
  writer.SetString("tokenizer.ggml.model", "gemma4");
  writer.SetStrings("tokenizer.ggml.tokens", std::vector<std::string_view>(pieces.begin(), pieces.end()));
  writer.SetFloat32s("tokenizer.ggml.scores", std::vector<float>(pieces.size(), -1000.0f));
  writer.SetInt32s("tokenizer.ggml.token_type", std::vector<int32_t>(pieces.size(), 1));
  writer.SetStrings("tokenizer.ggml.merges", std::vector<std::string_view>(merges.begin(), merges.end()));
  writer.SetUint32("tokenizer.ggml.bos_token_id", 2);
  writer.SetUint32("tokenizer.ggml.eos_token_id", 1);
  writer.SetUint32("tokenizer.ggml.unknown_token_id", 3);
  QUERN_TRY(writer.Begin(path, AtomicFile::IfExists::kReplace));
  return writer.Finish();
}

}  // namespace quern::format
