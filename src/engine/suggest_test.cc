#include "quern/suggest.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

const std::vector<std::string> kNames = {"threads", "context", "kv_type", "color"};

TEST(NearestNames, FindsTyposAndSwaps) {
  EXPECT_EQ(NearestNames("thread", kNames), std::vector<std::string>{"threads"});
  EXPECT_EQ(NearestNames("thraeds", kNames), std::vector<std::string>{"threads"}) << "a swap is one edit";
  EXPECT_EQ(NearestNames("COLOUR", kNames), std::vector<std::string>{"color"});
}

TEST(NearestNames, StaysSilentWhenNothingIsNear) {
  EXPECT_TRUE(NearestNames("residency", kNames).empty());
  EXPECT_TRUE(NearestNames(std::string(100'000, 'x'), kNames).empty());
}

TEST(NearestNames, RanksAndLimits) {
  const std::vector<std::string> names = {"bbbb", "abbb", "aabb"};
  EXPECT_EQ(NearestNames("aaab", names, 2), (std::vector<std::string>{"aabb", "abbb"}));
}

}  // namespace
}  // namespace quern
