#include "cli/terminal/text_stream.h"

#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {
constexpr int kTabColumns = 8;
}

void TextStream::Write(std::string_view segment) {
  if (segment.empty()) return;
  if (!options_.is_terminal) {
    out_.Write(segment);
    at_line_start_ = segment.back() == '\n';
    out_.Flush();
    return;
  }
  const int limit = options_.width ? options_.width() : 0;
  for (size_t at = 0; at < segment.size();) {
    const CodePoint point = DecodeFirst(segment.substr(at));
    at += point.num_bytes;
    if (IsControl(point.value)) {
      for (const char c : VisibleControl(point.value)) Put(static_cast<unsigned char>(c), 1, limit);
    } else {
      Put(point.value, DisplayWidth(point.value), limit);
    }
  }
  out_.Write(pending_);
  pending_.clear();
  out_.Flush();
}

void TextStream::Emit(std::string_view text, int width) {
  pending_ += text;
  column_ += width;
  at_line_start_ = false;
}

void TextStream::Put(char32_t value, int width, int limit) {
  if (value == '\n') {
    pending_ += '\n';
    column_ = word_columns_ = 0;
    word_.clear();
    at_line_start_ = true;
    return;
  }
  if (value == '\t') width = kTabColumns - column_ % kTabColumns;
  const bool is_space = value == ' ' || value == '\t';
  std::string text;
  AppendUtf8(text, value);
  if (limit > 0 && column_ + width > limit) {
    if (is_space) {  // a space that does not fit becomes the line break
      Put('\n', 0, limit);
      at_line_start_ = false;
      return;
    }
    const bool move_word = word_columns_ > 0 && word_columns_ < column_ && word_columns_ + width <= limit;
    if (move_word) {
      // The word has begun on this line and does not fit: take it back from the screen and begin the next line with it.
      // After the last column the cursor still stands on it.
      const int back = word_columns_ - (column_ == limit ? 1 : 0);
      if (back > 0) pending_ += fmt::format("\x1b[{}D", back);
      pending_ += "\x1b[K";
      pending_ += '\n' + word_;
      column_ = word_columns_;
    } else {
      pending_ += '\n';
      column_ = word_columns_ = 0;
      word_.clear();
    }
  }
  Emit(text, width);
  if (is_space || width == 2) {  // wide characters may be separated anywhere
    word_.clear();
    word_columns_ = 0;
  } else {
    word_ += text;
    word_columns_ += width;
  }
}

void TextStream::Finish() {
  if (!at_line_start_) out_.Write("\n");
  out_.Flush();
  at_line_start_ = true;
  column_ = word_columns_ = 0;
  word_.clear();
}

}  // namespace quern::cli
