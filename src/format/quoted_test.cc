// Proves: text of a hostile file cannot break out of a message.
#include "format/quoted.h"

#include <cstddef>

#include <gtest/gtest.h>

namespace quern::format {
namespace {

TEST(QuotedTest, EscapesAndCuts) {
  EXPECT_EQ(Quoted("blk.0.attn_q"), "\"blk.0.attn_q\"");
  EXPECT_EQ(Quoted("a\n\x1B\x7F\xC3"), "\"a\\x0A\\x1B\\x7F\\xC3\"");
  EXPECT_EQ(Quoted(std::string(96, 'x')), '"' + std::string(96, 'x') + '"');
  EXPECT_EQ(Quoted(std::string(97, 'x')), '"' + std::string(96, 'x') + "\"... (97 bytes)");
}

TEST(QuotedTest, RecognisesCommonMistakes) {
  const auto looks_like = [](std::string_view text) { return LooksLike(std::as_bytes(std::span(text))); };
  EXPECT_NE(looks_like("<html>"), "");
  EXPECT_NE(looks_like("PK\x03\x04zip"), "");
  EXPECT_NE(looks_like("GGUF"), "");
  EXPECT_EQ(looks_like("{}"), "");
  EXPECT_EQ(looks_like(""), "");
}

}  // namespace
}  // namespace quern::format
