#include "cli/terminal/terminal.h"

#include <algorithm>
#include <clocale>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text_stream.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

class Unicode : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
};

TEST(WantsColor, FollowsThePublishedOrder) {
  EXPECT_TRUE(WantsColor({.is_terminal = true}));
  EXPECT_FALSE(WantsColor({.is_terminal = false}));
  EXPECT_FALSE(WantsColor({.no_color = "1", .is_terminal = true}));
  EXPECT_FALSE(WantsColor({.mode = ColorMode::kAlways, .no_color = "1", .is_terminal = true}))
      << "from the environment";
  EXPECT_TRUE(WantsColor({.mode = ColorMode::kAlways, .mode_is_flag = true, .no_color = "1"}));
  EXPECT_TRUE(WantsColor({.clicolor_force = "1"}));
  EXPECT_FALSE(WantsColor({.clicolor_force = "0"}));
  EXPECT_FALSE(WantsColor({.clicolor_force = "1", .term = "dumb", .is_terminal = true}));
  EXPECT_FALSE(
      WantsColor({.mode = ColorMode::kNever, .mode_is_flag = true, .clicolor_force = "1", .is_terminal = true}));
}

TEST_F(Unicode, FindsTheFirstBadByte) {
  EXPECT_EQ(FindInvalidUtf8("gr\xc3\xbc\xc3\x9f"), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindInvalidUtf8("\xc0\xaf"), 0u) << "overlong";
  EXPECT_EQ(FindInvalidUtf8("\xed\xa0\x80"), 0u) << "surrogate";
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0u) << "beyond U+10FFFF";
  EXPECT_EQ(FindInvalidUtf8("x\xe2\x82"), 1u) << "cut off";
}

TEST_F(Unicode, RoundTripsEveryScalarValue) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(text, value);
    const CodePoint point = DecodeFirst(text);
    ASSERT_TRUE(point.valid && point.value == value && point.num_bytes == text.size()) << static_cast<uint32_t>(value);
  }
}

TEST_F(Unicode, MakesControlsVisible) {
  EXPECT_EQ(Visible("a\x1b[31m\x07\x7f\xc2\x9b\tb\n"), "a^[[31m^G^?<9B>\tb\n");
  EXPECT_EQ(Visible("\xff"), "\xef\xbf\xbd");
}

TEST_F(Unicode, MeasuresAndCutsByColumns) {
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1) << "a combining accent takes no column";
  EXPECT_EQ(FitColumns("abc", 5), "abc  ");
  EXPECT_EQ(FitColumns("abcdef", 4), "abc…");
  EXPECT_EQ(DisplayWidth(FitColumns("日本語です", 6)), 6);
}

// What a terminal of `columns` shows after the bytes: understands only what TextStream writes. Behind the last column
// the cursor stands on it, as on real terminals.
std::vector<std::string> Screen(const std::string& bytes, size_t columns) {
  std::vector<std::string> lines = {""};
  size_t cursor = 0;
  for (size_t at = 0; at < bytes.size();) {
    if (bytes[at] == '\x1b') {
      const size_t end = bytes.find_first_of("DK", at);
      cursor = std::min(cursor, columns - 1);
      if (bytes[end] == 'D') cursor -= static_cast<size_t>(std::stoi(bytes.substr(at + 2, end - at - 2)));
      if (bytes[end] == 'K') lines.back().resize(cursor);
      at = end + 1;
    } else if (bytes[at] == '\n') {
      lines.emplace_back();
      cursor = 0;
      ++at;
    } else {
      lines.back().resize(cursor);
      lines.back() += bytes[at++];
      ++cursor;
    }
  }
  return lines;
}

std::string Streamed(const std::vector<std::string>& segments, int width) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  Output out(ends[1]);
  TextStream stream(out, {.is_terminal = true, .width = [width] { return width; }});
  for (const std::string& segment : segments) stream.Write(segment);
  stream.Finish();
  close(ends[1]);
  std::string bytes(1 << 16, '\0');
  const ssize_t got = read(ends[0], bytes.data(), bytes.size());
  close(ends[0]);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

TEST_F(Unicode, WrapsBetweenWordsHoweverTheTextIsCut) {
  const std::string text = "the quick brown fox jumps over extraordinarily lazy dogs";
  // At width 21 a word is moved while the cursor waits behind the last column.
  const std::vector<std::string> expected = {"the quick brown fox", "jumps over", "extraordinarily lazy", "dogs", ""};
  std::vector<std::string> letters;
  for (const char c : text) letters.emplace_back(1, c);
  for (const auto& segments : {std::vector<std::string>{text}, letters}) {
    std::vector<std::string> lines = Screen(Streamed(segments, 21), 21);
    for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
    EXPECT_EQ(lines, expected);
  }
}

TEST_F(Unicode, BreaksOnlyWordsLongerThanALine) {
  const std::vector<std::string> lines = Screen(Streamed({"aaaaaaaaaaaaaaaaaaaaaaaaa bb"}, 20), 20);
  EXPECT_EQ(lines[0], std::string(20, 'a'));
  EXPECT_EQ(lines[1], "aaaaa bb");
}

TEST(FormatBytes, UsesPowersOfTwo) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(int64_t{15} << 30), "15.0 GiB");
}

TEST_F(Unicode, ABarFitsEveryWidth) {
  const Progress progress{"prepare", 512 << 20, 1024 << 20};
  for (const int width : {20, 40, 60, 80, 200}) {
    EXPECT_LE(DisplayWidth(FormatBar("load", progress, 1e8, width)), width) << width;
  }
  EXPECT_NE(FormatBar("load", progress, 1e8, 100).find(" 50% 512.0 MiB/1.0 GiB 95.4 MiB/s 6s"), std::string::npos)
      << FormatBar("load", progress, 1e8, 100);
  EXPECT_NE(FormatBar("load", progress, -1, 40).find("50%"), std::string::npos);
}

TEST(FormatBar, CountsWhatIsNotBytes) {
  const std::string line = FormatBar("perplexity", {"evaluate", 3, 12, "chunks"}, 0.5, 100);
  EXPECT_TRUE(line.ends_with(" 25% 3/12 chunks 18s")) << line;
}

struct FakeClock {
  ProgressDisplay::Clock::time_point now{std::chrono::hours(1)};
  std::string written;
  ProgressDisplay::Options Options(ProgressMode mode) {
    return {mode, [this](std::string_view text) { written += text; }, [] { return 80; }, [this] { return now; }};
  }
  void Pass(int ms) { now += std::chrono::milliseconds(ms); }
};

TEST(ProgressDisplay, ShowsNothingBeforeHalfASecond) {
  FakeClock clock;
  {
    ProgressDisplay display("load", clock.Options(ProgressMode::kBar));
    for (int i = 0; i < 49; ++i) {
      display.Update({"open", i, 100});
      clock.Pass(10);
    }
  }
  EXPECT_EQ(clock.written, "");
}

TEST(ProgressDisplay, RedrawsAtMostTenTimesASecondAndCleansUp) {
  FakeClock clock;
  {
    ProgressDisplay display("load", clock.Options(ProgressMode::kBar));
    clock.Pass(500);
    for (int i = 0; i < 100; ++i) {
      display.Update({"open", i, 100});
      clock.Pass(10);
    }
  }
  EXPECT_EQ(std::count(clock.written.begin(), clock.written.end(), '\r'), 11)
      << "ten drawings in a second and the clean-up";
  EXPECT_TRUE(clock.written.ends_with("\r\x1b[K"));
}

TEST(ProgressDisplay, PlainLinesAreRare) {
  FakeClock clock;
  {
    ProgressDisplay display("load", clock.Options(ProgressMode::kPlain));
    clock.Pass(500);
    for (int i = 0; i <= 1000; ++i) {
      display.Update({"open", i, 1000});
      clock.Pass(20);  // 20 s in all: 5 s is 25 %, rarer than 10 %
    }
  }
  EXPECT_EQ(std::count(clock.written.begin(), clock.written.end(), '\n'), 5) << clock.written;
}

TEST_F(Unicode, TablesAlignByColumnsAndAreHarmless) {
  Table table({"A", "B"});
  table.Add({"日本", "x"});
  table.Add({"\x1b[2J", "y"});
  EXPECT_EQ(table.Text(), "A      B\n日本   x\n^[[2J  y\n");
}

}  // namespace
}  // namespace quern::cli
