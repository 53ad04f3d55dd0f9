#include "quern/alias.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace quern {
namespace {

class AliasTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "quern-alias-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/state/aliases.json";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_, path_;
};

TEST_F(AliasTest, SetsFindsAndRemoves) {
  ASSERT_TRUE(SetAlias(path_, "mine", "./model.gguf", OverBuiltIn::kRefuse));
  ASSERT_TRUE(SetAlias(path_, "mine", "./other.gguf", OverBuiltIn::kRefuse));
  const auto found = FindAlias(path_, "mine");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->reference, "./other.gguf");
  EXPECT_TRUE(RemoveAlias(path_, "mine"));
  EXPECT_EQ(RemoveAlias(path_, "mine").error().code, Code::kNotFound);
}

TEST_F(AliasTest, BuiltInNamesIgnoreCaseAndNeedForceToHide) {
  EXPECT_TRUE((*FindAlias(path_, "Gemma4:E2B"))->built_in);
  EXPECT_EQ(SetAlias(path_, "gemma4:e2b", "x/y", OverBuiltIn::kRefuse).error().code, Code::kInvalidArgument);
  ASSERT_TRUE(SetAlias(path_, "gemma4:e2b", "x/y", OverBuiltIn::kAllow));
  EXPECT_EQ((*FindAlias(path_, "gemma4:e2b"))->reference, "x/y");
  int named = 0;
  const std::vector<Alias> aliases = *ListAliases(path_);
  for (const Alias& alias : aliases) named += alias.name == "gemma4:e2b";
  EXPECT_EQ(named, 1) << "the user alias hides the built-in one";
}

TEST_F(AliasTest, RefusesNamesThatCannotBeReached) {
  for (const char* name : {"", "a/b", "a@b", "a b", "-x", "./x", "m.gguf"}) {
    EXPECT_FALSE(SetAlias(path_, name, "x/y", OverBuiltIn::kAllow)) << name;
  }
}

TEST_F(AliasTest, ReportsADamagedFile) {
  std::filesystem::create_directories(folder_ + "/state");
  std::ofstream(path_) << "{\"a\": 1}";
  EXPECT_EQ(ListAliases(path_).error().code, Code::kCorrupt);
  std::ofstream(path_) << "{";
  EXPECT_EQ(FindAlias(path_, "a").error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace quern
