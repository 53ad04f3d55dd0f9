// Proves: a model folder opens with what it has, and a missing or malformed document is named.
#include "format/hf_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/sample_files.h"

namespace quern::format {
namespace {

using ::testing::HasSubstr;

TEST(HfFolderTest, OpensADemoCheckpoint) {
  const std::filesystem::path path = std::filesystem::path(QUERN_SOURCE_DIR) / "models" / "gemma4-nano";
  const Result<HfFolder> folder = OpenHfFolder(path, WithWeights::kYes);
  ASSERT_TRUE(folder.has_value()) << folder.error().ToString();
  EXPECT_EQ(folder->config["model_type"], "gemma4_text");
  EXPECT_EQ((*folder->generation_config)["top_k"], 64);
  EXPECT_EQ((*folder->tokenizer_config)["bos_token"], "<bos>");
  EXPECT_EQ(folder->path, path);
  EXPECT_EQ(folder->weights.tensors.tensors.size(), 129u);
  EXPECT_TRUE(OpenHfFolder(path, WithWeights::kNo)->weights.tensors.tensors.empty());
}

TEST(HfFolderTest, CompanionsAreOptionalButConfigIsNot) {
  const TemporaryFolder folder;
  const Result<HfFolder> empty = OpenHfFolder(folder.path(), WithWeights::kNo);
  EXPECT_EQ(empty.error().code, Code::kNotFound);
  EXPECT_THAT(empty.error().message, HasSubstr("has no config.json"));
  EXPECT_FALSE(empty.error().hint.empty());
  folder.Write("config.json", "{}");
  const Result<HfFolder> bare = OpenHfFolder(folder.path(), WithWeights::kNo);
  ASSERT_TRUE(bare.has_value()) << bare.error().ToString();
  EXPECT_EQ(bare->generation_config, std::nullopt);
  EXPECT_EQ(bare->tokenizer_config, std::nullopt);
  EXPECT_EQ(OpenHfFolder(folder.path(), WithWeights::kYes).error().code, Code::kNotFound);
  EXPECT_EQ(OpenHfFolder(folder.path() / "config.json", WithWeights::kNo).error().code, Code::kNotFound);
}

TEST(HfFolderTest, MalformedDocumentsAreNamed) {
  const TemporaryFolder folder;
  folder.Write("config.json", "[]");
  EXPECT_THAT(OpenHfFolder(folder.path(), WithWeights::kNo).error().message,
              HasSubstr("config.json: the top value is array"));
  folder.Write("config.json", "{}");
  folder.Write("generation_config.json", "{");
  const Result<HfFolder> broken = OpenHfFolder(folder.path(), WithWeights::kNo);
  EXPECT_EQ(broken.error().code, Code::kCorrupt);
  EXPECT_THAT(broken.error().message, HasSubstr("generation_config.json"));
}

TEST(HfFolderTest, SizesAreLimited) {
  const TemporaryFolder folder;
  std::filesystem::resize_file(folder.Write("config.json", "{}"), (16 << 20) + 1);
  EXPECT_EQ(OpenHfFolder(folder.path(), WithWeights::kNo).error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace quern::format
