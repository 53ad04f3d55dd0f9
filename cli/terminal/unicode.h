// UTF-8 for a terminal: decoding, validation, widths, and text that cannot drive the terminal. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::cli {

struct CodePoint {
  char32_t value = 0;    // U+FFFD when the bytes are not UTF-8
  size_t num_bytes = 0;  // consumed; 0 at the end of the text
  bool valid = true;
};
// The code point at the start of text. Overlong forms, surrogates and stray bytes consume one byte and are not valid.
CodePoint DecodeFirst(std::string_view text);
void AppendUtf8(std::string& text, char32_t value);

// Byte offset of the first byte that is not UTF-8.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// Columns on a terminal: 0 for combining marks, 2 for wide characters. Needs a UTF-8 LC_CTYPE.
int DisplayWidth(char32_t value);
int DisplayWidth(std::string_view text);

// C0 except newline and tab, DEL and C1: what a model or a file could steer a terminal with.
bool IsControl(char32_t value);
// "^[" for ESC, "^?" for DEL, "<9B>" for C1.
std::string VisibleControl(char32_t value);
// text with controls made visible and damaged bytes replaced by U+FFFD.
std::string Visible(std::string_view text);

// Spaces up to `columns`; longer text is cut with an ellipsis.
std::string FitColumns(std::string_view text, int columns);

}  // namespace quern::cli
