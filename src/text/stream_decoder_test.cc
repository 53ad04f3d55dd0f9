// Proves: hold-back and repair give one result however the bytes are cut, and that result follows Unicode's rule of one
// U+FFFD per maximal ill-formed subpart. The reference below shares nothing with the code: it asks utf8proc what is a
// code point and finds "may still become one" by trying completions.
#include "text/stream_decoder.h"

#include <random>

#include <gtest/gtest.h>
#include <utf8proc.h>

#include "text/utf8.h"

namespace quern::text {
namespace {

bool IsCodePoint(std::string_view bytes) {
  utf8proc_int32_t code_point = 0;
  return utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                          static_cast<utf8proc_ssize_t>(bytes.size()),
                          &code_point) == static_cast<utf8proc_ssize_t>(bytes.size());
}

bool MayBecomeCodePoint(const std::string& bytes) {
  if (IsCodePoint(bytes)) return true;
  if (bytes.size() >= 4) return false;
  // The borders of every range of continuation bytes in table 3-7.
  for (const char next : {'\x80', '\x8F', '\x90', '\x9F', '\xA0', '\xBF'}) {
    if (MayBecomeCodePoint(bytes + next)) return true;
  }
  return false;
}

std::string ReferenceRepair(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    size_t length = 0;
    while (length < bytes.size() && MayBecomeCodePoint(std::string(bytes.substr(0, length + 1)))) {
      ++length;
      if (IsCodePoint(bytes.substr(0, length))) break;
    }
    const std::string_view taken = bytes.substr(0, std::max<size_t>(length, 1));
    out += IsCodePoint(taken) ? std::string(taken) : "\xEF\xBF\xBD";
    bytes.remove_prefix(taken.size());
  }
  return out;
}

// Bytes near the borders of UTF-8, so that ill-formed and unfinished sequences are frequent.
std::string RandomBytes(std::mt19937& random) {
  static constexpr std::string_view kBytes =
      "a\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF3\xF4\xF5\xFF";
  std::string bytes;
  for (size_t length = random() % 24; bytes.size() < length;) {
    if (random() % 3 == 0) {
      bytes += "😀é漢";
    } else {
      bytes += kBytes[random() % kBytes.size()];
    }
  }
  return bytes;
}

TEST(StreamDecoder, HoldsBackUntilACharacterIsComplete) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.Push("a\xF0\x9F"), "a");
  EXPECT_EQ(decoder.Push("\x98"), "");
  EXPECT_EQ(decoder.Push("\x80!"), "😀!");
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoder, ReplacesWhatCannotBecomeACharacter) {
  StreamDecoder decoder;
  EXPECT_EQ(decoder.Push("\xE2\x82"), "");
  EXPECT_EQ(decoder.Push("x"), "\uFFFDx") << "one replacement for the two bytes of an unfinished euro sign";
  EXPECT_EQ(decoder.Push("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate is three ill-formed bytes";
  EXPECT_EQ(decoder.Push("\xF0\x9F"), "");
  EXPECT_EQ(decoder.Flush(), "\uFFFD");
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoder, EveryCutGivesTheReferenceText) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = RandomBytes(random);
    const std::string expected = ReferenceRepair(bytes);
    ASSERT_EQ(RepairUtf8(bytes), expected);
    StreamDecoder decoder;
    std::string text;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = random() % 4;
      const std::string part = decoder.Push(std::string_view(bytes).substr(at, length));
      ASSERT_EQ(RepairUtf8(part), part) << "a part that is not UTF-8";
      text += part;
      at += length;
    }
    ASSERT_EQ(text + decoder.Flush(), expected);
  }
}

TEST(Utf8, TrimsWhatPythonTrims) {
  EXPECT_EQ(TrimWhitespace(" \t\r\n\x1C\u0085\u00A0\u2003\u3000x y\u2028\v\f "), "x y");
  EXPECT_EQ(TrimWhitespace("\u200Bx\u200B"), "\u200Bx\u200B") << "a zero width space is no space";
  EXPECT_EQ(TrimWhitespace(" \xFF "), "\xFF");
  EXPECT_EQ(TrimWhitespace(" \n "), "");
}

}  // namespace
}  // namespace quern::text
