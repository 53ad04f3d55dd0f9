// Makes messages and commands out of lines: """ blocks, a trailing backslash, pastes, // for a literal slash.
#pragma once

#include <string>

#include "cli/chat/line_source.h"

namespace quern::cli {

struct Input {
  enum class Kind : uint8_t { kMessage, kCommand, kEnd, kInterrupted, kTerminated };
  Kind kind = Kind::kEnd;
  std::string text;       // of a command: with its slash
  bool had_text = false;  // kInterrupted: a line or block was given up
};

class MessageReader {
 public:
  explicit MessageReader(LineSource& lines) : lines_(lines) {}
  // The next message or command; empty lines are skipped. An end inside a """ block is InvalidArgument.
  Result<Input> Next();

 private:
  Result<Input> Continue(std::string text);
  Result<Input> ReadBlock(std::string first);
  LineSource& lines_;
};

}  // namespace quern::cli
