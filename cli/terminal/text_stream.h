// Model text on its way to stdout. On a terminal: control characters are made visible, words are wrapped at the width
// without being broken and every segment appears at once. Elsewhere the bytes pass through unchanged.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/output.h"

namespace quern::cli {

class TextStream {
 public:
  struct Options {
    bool is_terminal = false;
    std::function<int()> width;  // columns, asked per segment; null: no wrapping
  };
  TextStream(Output& out, Options options) : out_(out), options_(std::move(options)) {}

  // A segment of complete UTF-8, shown and flushed.
  void Write(std::string_view segment);
  // Ends the text: a newline unless the cursor is at the start of a line.
  void Finish();
  bool at_line_start() const { return at_line_start_; }

 private:
  void Put(char32_t value, int width, int limit);
  void Emit(std::string_view text, int width);
  Output& out_;
  Options options_;
  std::string pending_;  // what this segment adds to the screen
  std::string word_;     // the word that ends at the cursor, already on the screen
  int column_ = 0, word_columns_ = 0;
  bool at_line_start_ = true;
};

}  // namespace quern::cli
