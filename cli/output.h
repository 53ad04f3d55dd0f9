// Standard output: results only. Buffered until Flush or destruction of the process through Finish.
//
// A reader that went away (EPIPE) ends the process at once with 141 and no message, as SIGPIPE would. Any other
// failure, such as a full disk, is kept and returned by Finish.
#pragma once

#include <string>
#include <string_view>

#include "cli/status.h"

namespace quern::cli {

class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view text);
  template <typename... Args>
  void Print(fmt::format_string<Args...> format, Args&&... args) {
    Write(fmt::format(format, std::forward<Args>(args)...));
  }
  void Flush();
  // Flushes; the first failure of this output's life.
  Status Finish();
  // Whether anything was written.
  bool used() const { return used_; }

 private:
  int fd_;
  bool used_ = false;
  std::string buffer_;
  Status failure_;
};

}  // namespace quern::cli
