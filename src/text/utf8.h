// One step of UTF-8 decoding, the single place that decides what a well-formed, an unfinished and an ill-formed
// sequence is (Unicode, table 3-7). The tokenizers and StreamDecoder both stand on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::text {

enum class Utf8State : uint8_t {
  kComplete,    // a code point
  kIncomplete,  // the text ends inside a sequence that is well-formed so far
  kIllFormed,   // can never become a code point; length is the maximal ill-formed subpart
};

struct Utf8Step {
  char32_t code_point = 0;  // kComplete only
  uint8_t length = 0;       // bytes, at least 1 unless the text is empty
  Utf8State state = Utf8State::kIncomplete;
};

inline Utf8Step NextUtf8(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, Utf8State::kComplete};
  if (lead < 0xC2 || lead > 0xF4) return {0, 1, Utf8State::kIllFormed};
  const size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Only the second byte has a range of its own: no overlong forms, no surrogates, nothing above U+10FFFF.
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  char32_t code_point = lead & (0x7F >> need);
  for (size_t i = 1; i < need; ++i) {
    if (i == text.size()) return {0, static_cast<uint8_t>(i), Utf8State::kIncomplete};
    if (byte(i) < low || byte(i) > high) return {0, static_cast<uint8_t>(i), Utf8State::kIllFormed};
    code_point = (code_point << 6) | (byte(i) & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, static_cast<uint8_t>(need), Utf8State::kComplete};
}

// "▁", which stands for a space inside pieces.
inline constexpr char32_t kSpaceMark = 0x2581;
inline constexpr std::string_view kSpaceMarkUtf8 = "\xE2\x96\x81";

// Every ' ' as "▁" and back.
std::string EscapeSpaces(std::string_view text);
std::string UnescapeSpaces(std::string_view piece);

// Without white space at both ends, as Python's str.strip() does it: templates were written against that.
std::string_view TrimWhitespace(std::string_view text);

// Upper and lower case code point by code point; ill-formed bytes stay.
std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);

}  // namespace quern::text
