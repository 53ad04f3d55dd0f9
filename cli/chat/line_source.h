// Where a chat reads lines from: an edited terminal line, or a plain stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/text_input.h"

namespace quern::cli {

struct InputLine {
  enum class Kind : uint8_t {
    kLine,
    kEnd,          // Ctrl-D or the end of the input
    kInterrupted,  // Ctrl-C; had_text says whether something stood on the line
    kTerminated,   // SIGTERM or SIGHUP
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool pasted = false;  // came through a bracketed paste, wholly or in part: never a command
  bool had_text = false;
};

class LineSource {
 public:
  virtual ~LineSource() = default;
  virtual Result<InputLine> Read(std::string_view prompt) = 0;
  // Remembers a message for the arrow keys.
  virtual void Remember(std::string_view) {}
  // Text that stands on the next line already, for the user to mend. False when this source cannot.
  virtual bool Prefill(std::string_view) { return false; }
};

// Lines of a descriptor. With a prompt writer it serves a terminal without line editing.
class StreamLines final : public LineSource {
 public:
  StreamLines(int fd, std::function<void(std::string_view)> write_prompt)
      : reader_(fd), write_prompt_(std::move(write_prompt)) {}
  Result<InputLine> Read(std::string_view prompt) override;

 private:
  LineReader reader_;
  std::function<void(std::string_view)> write_prompt_;
};

}  // namespace quern::cli
