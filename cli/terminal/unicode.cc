#include "cli/terminal/unicode.h"

#include <cwchar>

#include <fmt/format.h>

namespace quern::cli {

CodePoint DecodeFirst(std::string_view text) {
  constexpr CodePoint kDamaged{0xFFFD, 1, false};
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  const size_t length = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < length) return kDamaged;
  char32_t value = byte(0) & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return kDamaged;
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return kDamaged;
  return {value, length, true};
}

void AppendUtf8(std::string& text, char32_t value) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | (value >> 6));
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3F));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeFirst(text.substr(at));
    if (!point.valid) return at;
    at += point.num_bytes;
  }
  return std::nullopt;
}

int DisplayWidth(char32_t value) {
  const int width = wcwidth(static_cast<wchar_t>(value));
  return width < 0 ? (value < 0x80 ? 0 : 1) : width;
}

int DisplayWidth(std::string_view text) {
  int columns = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeFirst(text.substr(at));
    columns += DisplayWidth(point.value);
    at += point.num_bytes;
  }
  return columns;
}

bool IsControl(char32_t value) {
  if (value == '\n' || value == '\t') return false;
  return value < 0x20 || (value >= 0x7F && value < 0xA0);
}

std::string VisibleControl(char32_t value) {
  if (value < 0x20) return {'^', static_cast<char>(value + '@')};
  if (value == 0x7F) return "^?";
  return fmt::format("<{:02X}>", static_cast<unsigned>(value));
}

std::string Visible(std::string_view text) {
  std::string visible;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeFirst(text.substr(at));
    if (IsControl(point.value)) {
      visible += VisibleControl(point.value);
    } else {
      AppendUtf8(visible, point.value);
    }
    at += point.num_bytes;
  }
  return visible;
}

std::string FitColumns(std::string_view text, int columns) {
  std::string fitted;
  int used = 0;
  const int total = DisplayWidth(text);
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeFirst(text.substr(at));
    const int width = DisplayWidth(point.value);
    if (used + width > (total > columns ? columns - 1 : columns)) break;
    AppendUtf8(fitted, point.value);
    used += width;
    at += point.num_bytes;
  }
  if (total > columns && columns > 0) {
    fitted += "…";
    ++used;
  }
  if (used < columns) fitted.append(static_cast<size_t>(columns - used), ' ');
  return fitted;
}

}  // namespace quern::cli
