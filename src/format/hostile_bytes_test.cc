// Proves: a valid file cut at any byte, or with any byte changed, either still reads or fails cleanly. Run under the
// sanitizers this covers every length, count and offset field of every format.
#include <gtest/gtest.h>

#include "format/gguf.h"
#include "format/hf_folder.h"
#include "format/safetensors.h"
#include "format/sample_files.h"
#include "format/vocabulary.h"

namespace quern::format {
namespace {

// Reads the bytes of every tensor, so that a view outside the file would be noticed.
uint64_t Touch(const TensorTable& table) {
  uint64_t sum = 0;
  for (const auto& [name, view] : table.tensors) {
    for (int64_t i = 0; i < view.num_bytes(); ++i) sum += static_cast<uint8_t>(view.data[i]);
  }
  return sum;
}

template <typename T>
void ExpectClean(const Result<T>& result) {
  if (result) return;
  EXPECT_TRUE(result.error().code == Code::kCorrupt || result.error().code == Code::kUnsupported)
      << result.error().ToString();
  EXPECT_FALSE(result.error().message.empty());
}

// Calls read with every prefix, then with every byte replaced by values that hit signs, lengths and neighbours.
template <typename Read>
void Disturb(const std::string& valid, const Read& read) {
  for (size_t size = 0; size < valid.size(); ++size) read(valid.substr(0, size));
  for (size_t i = 0; i < valid.size(); ++i) {
    std::string changed = valid;
    for (const int value :
         {0x00, 0x01, 0x7F, 0x80, 0xFF, valid[i] ^ 0x01, valid[i] + 1, valid[i] - 1, int{'"'}, int{'9'}}) {
      changed[i] = static_cast<char>(value);
      read(changed);
    }
  }
}

TEST(HostileBytesTest, Gguf) {
  Disturb(SmallGguf(), [](const std::string& text) {
    // A copy of exactly this size: reading one byte too many is then an error the sanitizer sees.
    const std::vector<std::byte> bytes(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
    const Result<GgufFile> file = GgufFile::Parse(bytes);
    ExpectClean(file);
    if (file) Touch(file->tensors());
  });
}

TEST(HostileBytesTest, Safetensors) {
  Disturb(SmallSafetensors(), [](const std::string& text) {
    const std::vector<std::byte> bytes(std::as_bytes(std::span(text)).begin(), std::as_bytes(std::span(text)).end());
    const Result<SafetensorsFile> file = ParseSafetensors(bytes);
    ExpectClean(file);
    if (file) Touch(file->tensors);
  });
}

TEST(HostileBytesTest, TokenizerJson) {
  // A vocabulary small enough to disturb each byte; its pipeline is that of the sample.
  Json tree = Json::parse(SmallTokenizerJson());
  tree["added_tokens"] = Json::array({{{"id", 3}, {"content", "<bos>"}, {"special", true}}});
  tree["post_processor"]["special_tokens"]["<bos>"]["ids"] = {3};
  tree["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}};
  tree["model"]["unk_token"] = nullptr;
  const std::string text = tree.dump();
  ASSERT_TRUE(ParseTokenizerJson(text, "", "t").has_value());
  Disturb(text, [](const std::string& changed) { ExpectClean(ParseTokenizerJson(changed, "", "t")); });
  const std::string config = SmallTokenizerConfig();
  const std::string tokenizer = SmallTokenizerJson();
  for (size_t size = 1; size < config.size(); ++size)
    ExpectClean(ParseTokenizerJson(tokenizer, config.substr(0, size), "t"));
}

TEST(HostileBytesTest, GgufVocabulary) {
  const std::string valid = SmallVocabularyGguf();
  const auto read = [](const std::string& text) -> Result<Vocabulary> {
    QUERN_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Parse(std::as_bytes(std::span(text))));
    return ReadGgufVocabulary(file);
  };
  ASSERT_TRUE(read(valid).has_value()) << read(valid).error().ToString();
  Disturb(valid, [&](const std::string& text) {
    // A key changed into another one is a missing key: of the model, NotFound.
    const Result<Vocabulary> vocabulary = read(text);
    if (vocabulary || vocabulary.error().code != Code::kNotFound) ExpectClean(vocabulary);
  });
}

TEST(HostileBytesTest, SentencePieceModel) {
  Disturb(SmallSentencePieceModel(), [](const std::string& text) { ExpectClean(ParseSentencePieceModel(text)); });
}

TEST(HostileBytesTest, Config) {
  Disturb(R"({"model_type":"gemma4_text","eos_token_id":[1,16],"rope":{"theta":1e6},"n":null})",
          [](const std::string& text) { ExpectClean(ParseHfConfig(text, "config.json")); });
}

}  // namespace
}  // namespace quern::format
