#include "base/file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quern {
namespace {

constexpr size_t kWriteBufferBytes = size_t{1} << 20;

Code CodeOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kResourceExhausted;
    default: return Code::kInvalidArgument;
  }
}

tl::unexpected<Error> FailErrno(std::string_view action, const std::filesystem::path& path, int error) {
  return Fail(CodeOfErrno(error), "cannot {} {}: {}", action, path.string(), std::strerror(error));
}

// Opens a regular file for reading; returns the descriptor and its size.
Result<std::pair<int, size_t>> OpenRegular(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FailErrno("open", path, errno);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return FailErrno("stat", path, error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return Fail(Code::kInvalidArgument, "{} is not a regular file", path.string());
  }
  return std::pair{fd, static_cast<size_t>(info.st_size)};
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const auto opened, OpenRegular(path));
  const auto [fd, size_bytes] = opened;
  if (size_bytes == 0) {
    ::close(fd);
    return Fail(Code::kCorrupt, "{} is empty", path.string());
  }
  void* data = ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  ::close(fd);
  if (data == MAP_FAILED) return FailErrno("map", path, error);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size_bytes));
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(data_), size_bytes_); }

Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit_bytes) {
  QUERN_ASSIGN_OR_RETURN(const auto opened, OpenRegular(path));
  const auto [fd, size_bytes] = opened;
  if (size_bytes > limit_bytes) {
    ::close(fd);
    return Fail(Code::kResourceExhausted, "{} has {} bytes; the limit for this kind of file is {}", path.string(),
                size_bytes, limit_bytes);
  }
  std::string text(size_bytes, '\0');
  size_t done = 0;
  while (done < size_bytes) {
    const ssize_t got = ::read(fd, text.data() + done, size_bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(fd);
      return FailErrno("read", path, error);
    }
    if (got == 0) break;  // the file shrank while it was read
    done += static_cast<size_t>(got);
  }
  ::close(fd);
  text.resize(done);
  return text;
}

Result<AtomicFile> AtomicFile::Create(const std::filesystem::path& path, IfExists if_exists, unsigned mode) {
  std::error_code ignored;
  if (if_exists == IfExists::kFail && std::filesystem::exists(path, ignored)) {
    return WithHint(Fail(Code::kInvalidArgument, "{} exists already", path.string()),
                    "choose another name or remove it first");
  }
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return FailErrno("create a temporary file beside", path, errno);
  ::fchmod(fd, mode);
  return AtomicFile(path, temporary, fd, if_exists);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      if_exists_(other.if_exists_),
      buffer_(std::move(other.buffer_)),
      size_bytes_(other.size_bytes_) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  size_bytes_ += bytes.size();
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (buffer_.size() >= kWriteBufferBytes) return Flush();
  return {};
}

Status AtomicFile::Flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FailErrno(fmt::format("write {} bytes to", size_bytes_), path_, errno);
    done += static_cast<size_t>(put);
  }
  buffer_.clear();
  return {};
}

Status AtomicFile::Commit() {
  QUERN_TRY(Flush());
  if (::fsync(fd_) != 0) return FailErrno("flush", path_, errno);
  ::close(std::exchange(fd_, -1));
  // link() instead of rename() refuses an existing name without a race.
  if (if_exists_ == IfExists::kFail) {
    const int linked = ::link(temporary_.c_str(), path_.c_str());
    const int error = errno;
    ::unlink(temporary_.c_str());
    if (linked != 0) return FailErrno("publish", path_, error);
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return FailErrno("publish", path_, error);
  }
  const std::string folder = path_.has_parent_path() ? path_.parent_path().string() : ".";
  if (const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); fd >= 0) {
    ::fsync(fd);
    ::close(fd);
  }
  return {};
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, AtomicFile::IfExists::kReplace, mode));
  QUERN_TRY(file.Write(text));
  return file.Commit();
}

}  // namespace quern
