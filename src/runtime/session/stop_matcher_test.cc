// Stop strings: found across any cut, held back only as long as they may still come.
#include "runtime/session/stop_matcher.h"

#include <gtest/gtest.h>

namespace quern::runtime {
namespace {

TEST(StopMatcher, FindsAStopStringHoweverTheTextIsCut) {
  const std::string text = "one two STOP three";
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    StopMatcher matcher({"STOP"});
    std::string out;
    for (size_t at = 0; at < text.size(); at += cut) out += matcher.Push(std::string_view(text).substr(at, cut));
    out += matcher.Flush();
    EXPECT_EQ(out, "one two ") << "pieces of " << cut;
    EXPECT_EQ(matcher.matched(), "STOP");
  }
}

TEST(StopMatcher, TheFirstPlaceWinsThenTheFirstInTheList) {
  StopMatcher earlier({"b", "ab"});
  EXPECT_EQ(earlier.Push("xab"), "x");
  EXPECT_EQ(earlier.matched(), "ab");
  StopMatcher listed({"ab", "abc"});
  EXPECT_EQ(listed.Push("abc"), "");
  EXPECT_EQ(listed.matched(), "ab");
}

TEST(StopMatcher, HoldsBackOnlyAPossibleBeginning) {
  StopMatcher matcher({"\n\n"});
  EXPECT_EQ(matcher.Push("line\n"), "line");
  EXPECT_EQ(matcher.Push("next"), "\nnext");
  EXPECT_EQ(matcher.Push("\n"), "");
  EXPECT_EQ(matcher.Flush(), "\n");
  EXPECT_FALSE(matcher.matched().has_value());
}

TEST(StopMatcher, WithoutStopsEverythingPasses) {
  StopMatcher matcher({"", ""});
  EXPECT_EQ(matcher.Push("abc"), "abc");
  EXPECT_EQ(matcher.Flush(), "");
}

}  // namespace
}  // namespace quern::runtime
