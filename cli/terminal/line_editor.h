// A line of input edited on the terminal through libedit: emacs keys, arrows, Ctrl-R, Ctrl-L, wide characters,
// bracketed paste. The prompt and the echo go to stderr. One editor per process, main thread; needs a UTF-8 LC_CTYPE.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/chat/line_source.h"

namespace quern::cli {

class LineEditor final : public LineSource {
 public:
  // history: oldest first.
  static Result<std::unique_ptr<LineEditor>> Create(std::span<const std::string> history);
  ~LineEditor() override;

  Result<InputLine> Read(std::string_view prompt) override;
  void Remember(std::string_view text) override;
  bool Prefill(std::string_view text) override;

 private:
  struct State;
  explicit LineEditor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quern::cli
