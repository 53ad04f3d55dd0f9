// Proves: no source compares a token id with a number of the published vocabulary. The demo vocabulary numbers the same
// strings differently, and a constant that happens to work on one file breaks another silently.
#include <filesystem>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "text/demo_vocabulary.h"

namespace quern::text {
namespace {

namespace fs = std::filesystem;

// Ids that nothing but a token can be, anywhere; and small ones where a token is spoken of.
const std::regex kLargeId(R"(\b(255999|256000|25888[0-4]|236743)\b)");
const std::regex kSmallId(R"(\b(\w*[Tt]oken\w*|id|\w+_id_?|\w*Id)\s*(==|!=)\s*)"
                          R"((1|2|3|4|46|47|48|49|50|51|52|98|100|101|105|106|107|108|212|238)\b)");

std::string CodeOf(const std::string& line) { return line.substr(0, line.find("//")); }

bool IsSuspect(const std::string& line) {
  const std::string code = CodeOf(line);
  return std::regex_search(code, kLargeId) || std::regex_search(code, kSmallId);
}

TEST(ConstantIds, ThePatternFindsThem) {
  EXPECT_TRUE(IsSuspect("if (id == 106) break;"));
  EXPECT_TRUE(IsSuspect("while (next_token != 1) {"));
  EXPECT_TRUE(IsSuspect("constexpr int kImage = 255999;"));
  EXPECT_FALSE(IsSuspect("if (id == special.turn_close) break;  // 106 in the published file"));
  EXPECT_FALSE(IsSuspect("if (width == 106) break;"));
}

TEST(ConstantIds, NoneInTheSources) {
  size_t files = 0;
  const fs::path root = fs::path(QUERN_SOURCE_DIR) / "src";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || !(name.ends_with(".cc") || name.ends_with(".h")) || name.ends_with("_test.cc")) {
      continue;
    }
    ++files;
    std::istringstream lines(testing::ReadTreeFile(fs::relative(entry.path(), QUERN_SOURCE_DIR).string()));
    size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      EXPECT_FALSE(IsSuspect(line)) << entry.path().string() << ":" << number << ": " << line;
    }
  }
  EXPECT_GT(files, 20u) << "the sources were not found";
}

}  // namespace
}  // namespace quern::text
