#include "cli/text_input.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;
constexpr size_t kLongestLine = size_t{16} << 20;

std::string Reason() { return std::generic_category().message(errno); }

// Closes on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd > STDERR_FILENO) close(fd);
  }
};

}  // namespace

Result<std::string> ReadText(const std::string& path, size_t limit_bytes) {
  const std::string shown = path == "-" ? "standard input" : path;
  Descriptor file{path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0)
    return Fail(errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument, "cannot open {}: {}", shown, Reason());
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + kReadBytes);
    const ssize_t got = read(file.fd, text.data() + before, kReadBytes);
    text.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) return text;
    if (got < 0 && errno == EINTR && !StopRequested()) continue;
    if (got < 0 && errno == EINTR) return Fail(Code::kCancelled, "interrupted while reading {}", shown);
    if (got < 0) return Fail(Code::kInvalidArgument, "cannot read {}: {}", shown, Reason());
    if (text.size() > limit_bytes) {
      return Fail(Code::kResourceExhausted, "{} is larger than the limit of {} bytes", shown, limit_bytes);
    }
  }
}

Status CheckUtf8(std::string_view text, std::string_view what) {
  const std::optional<size_t> at = FindInvalidUtf8(text);
  if (!at) return {};
  return WithHint(Fail(Code::kInvalidArgument, "{} is not UTF-8: byte {} is 0x{:02x}", what, *at,
                       static_cast<unsigned>(static_cast<unsigned char>(text[*at]))),
                  "convert it, for example with iconv -t UTF-8");
}

Result<std::string> ReadUtf8(const std::string& path, size_t limit_bytes) {
  QUERN_ASSIGN_OR_RETURN(std::string text, ReadText(path, limit_bytes));
  QUERN_TRY(CheckUtf8(text, path == "-" ? "standard input" : path));
  return text;
}

Result<std::optional<std::string>> LineReader::Next() {
  for (;;) {
    const size_t newline = buffer_.find('\n', scanned_);
    if (newline != std::string::npos || (at_end_ && !buffer_.empty())) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline == std::string::npos ? buffer_.size() : newline + 1);
      scanned_ = 0;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return std::optional<std::string>(std::move(line));
    }
    if (at_end_) return std::optional<std::string>();
    scanned_ = buffer_.size();
    if (scanned_ > kLongestLine)
      return Fail(Code::kResourceExhausted, "an input line is longer than {} bytes", kLongestLine);
    // Plain reads: a positional read of a pipe would report a false end.
    char bytes[kReadBytes];
    const ssize_t got = read(fd_, bytes, sizeof(bytes));
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
    if (got == 0) at_end_ = true;
    if (got < 0 && errno != EINTR) return Fail(Code::kInternal, "cannot read the input: {}", Reason());
    if (got < 0 && (TerminationSignal() != 0 || TakePromptInterrupt()))
      return Fail(Code::kCancelled, "interrupted by a signal");
  }
}

Status WritePrivateFile(const std::string& path, std::string_view text) {
  const auto failure = [&](std::string_view step) {
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return Fail(full ? Code::kResourceExhausted : Code::kInvalidArgument, "cannot {} {}: {}", step, path, Reason());
  };
  std::string temporary = path + ".XXXXXX";
  Descriptor file{mkostemp(temporary.data(), O_CLOEXEC)};  // mode 0600
  if (file.fd < 0) return failure("write beside");
  const auto give_up = [&](std::string_view step) {
    auto error = failure(step);
    unlink(temporary.c_str());
    return error;
  };
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = write(file.fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return give_up("write");
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(file.fd) != 0 && errno != EINVAL) return give_up("write");
  if (rename(temporary.c_str(), path.c_str()) != 0) return give_up("rename to");
  return {};
}

}  // namespace quern::cli
