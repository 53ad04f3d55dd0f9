#include "text/utf8.h"

#include <utf8proc.h>

namespace quern::text {
namespace {

// str.isspace(): space separators and the bidirectional classes of white space and of separators.
bool IsSpace(char32_t code_point) {
  const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point));
  return property->category == UTF8PROC_CATEGORY_ZS || property->bidi_class == UTF8PROC_BIDI_CLASS_WS ||
         property->bidi_class == UTF8PROC_BIDI_CLASS_B || property->bidi_class == UTF8PROC_BIDI_CLASS_S;
}

template <typename Map>
std::string MapCodePoints(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = NextUtf8(text);
    if (step.state == Utf8State::kComplete) {
      utf8proc_uint8_t encoded[4];
      const auto length = utf8proc_encode_char(map(static_cast<utf8proc_int32_t>(step.code_point)), encoded);
      out.append(reinterpret_cast<const char*>(encoded), static_cast<size_t>(length));
    } else {
      out.append(text.substr(0, step.length));
    }
    text.remove_prefix(step.length);
  }
  return out;
}

}  // namespace

std::string EscapeSpaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  size_t begin = 0;
  for (size_t space = text.find(' '); space != std::string_view::npos; space = text.find(' ', begin)) {
    out.append(text.substr(begin, space - begin)).append(kSpaceMarkUtf8);
    begin = space + 1;
  }
  return out.append(text.substr(begin));
}

std::string UnescapeSpaces(std::string_view piece) {
  std::string out;
  size_t begin = 0;
  for (size_t mark = piece.find(kSpaceMarkUtf8); mark != std::string_view::npos;
       mark = piece.find(kSpaceMarkUtf8, begin)) {
    out.append(piece.substr(begin, mark - begin)).push_back(' ');
    begin = mark + kSpaceMarkUtf8.size();
  }
  return out.append(piece.substr(begin));
}

std::string_view TrimWhitespace(std::string_view text) {
  size_t begin = 0, end = 0;  // of what stays
  bool started = false;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = NextUtf8(text.substr(at));
    const bool space = step.state == Utf8State::kComplete && IsSpace(step.code_point);
    if (!space && !started) {
      begin = at;
      started = true;
    }
    at += step.length;
    if (!space) end = at;
  }
  return text.substr(begin, end - begin);
}

std::string ToUpper(std::string_view text) { return MapCodePoints(text, utf8proc_toupper); }
std::string ToLower(std::string_view text) { return MapCodePoints(text, utf8proc_tolower); }

}  // namespace quern::text
