#include "cli/output.h"

#include <cerrno>
#include <system_error>

#include <unistd.h>

#include "cli/exit_code.h"

namespace quern::cli {
namespace {
constexpr size_t kBufferBytes = size_t{1} << 16;
}

void Output::Write(std::string_view text) {
  used_ |= !text.empty();
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  std::string_view rest = buffer_;
  while (!rest.empty() && failure_) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      _exit(static_cast<int>(ExitCode::kClosedOutput));
    } else if (errno != EINTR) {
      failure_ = Fail(Code::kResourceExhausted, "cannot write the output: {}", std::generic_category().message(errno));
    }
  }
  buffer_.clear();
}

Status Output::Finish() {
  Flush();
  return failure_;
}

}  // namespace quern::cli
