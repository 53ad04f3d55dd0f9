// Text that comes from files and from standard input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/status.h"

namespace quern::cli {

inline constexpr size_t kLargestText = size_t{256} << 20;

// "-" is standard input. NotFound, ResourceExhausted above the limit.
Result<std::string> ReadText(const std::string& path, size_t limit_bytes = kLargestText);
// The same, and it must be UTF-8: InvalidArgument with the offset of the first byte that is not.
Result<std::string> ReadUtf8(const std::string& path, size_t limit_bytes = kLargestText);
Status CheckUtf8(std::string_view text, std::string_view what);

// Lines of standard input or another descriptor as they arrive. "\r\n" counts as "\n"; the last line needs no newline.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  // nullopt at the end. Cancelled when a signal asked the process to stop while waiting.
  Result<std::optional<std::string>> Next();

 private:
  int fd_;
  bool at_end_ = false;
  std::string buffer_;
  size_t scanned_ = 0;
};

// Replaces path with text: temporary name, fsync, rename, mode 0600.
Status WritePrivateFile(const std::string& path, std::string_view text);

}  // namespace quern::cli
