#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
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
    case ENOTDIR:
      return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    case EIO:
      return Code::kUnavailable;
    default:
      return Code::kInvalidArgument;
  }
}

tl::unexpected<Error> FailErrno(std::string_view action, const std::filesystem::path& path, int error) {
  return Fail(CodeOfErrno(error), "cannot {} {}: {}", action, path.string(), std::strerror(error));
}

// Opens a regular file for reading; returns the descriptor and its size.
Result<std::pair<int, size_t>> OpenRegular(const std::filesystem::path& path) {
  // Without O_NONBLOCK a pipe of this name would block the open until somebody writes to it.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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
  // The size is only a first guess: it is 0 for files of /proc, and a log may grow while it is read.
  std::string text(size_bytes + 1, '\0');
  size_t done = 0;
  for (;;) {
    const ssize_t got = ::read(fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(fd);
      return FailErrno("read", path, error);
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
    if (done > limit_bytes) {
      ::close(fd);
      return Fail(Code::kResourceExhausted, "{} has more than {} bytes, the limit for this kind of file", path.string(),
                  limit_bytes);
    }
    if (done == text.size()) text.resize(std::min(2 * text.size(), limit_bytes + 1));
  }
  ::close(fd);
  text.resize(done);
  return text;
}

namespace {

tl::unexpected<Error> FailExists(const std::filesystem::path& path) {
  return WithHint(Fail(Code::kInvalidArgument, "{} exists already", path.string()),
                  "choose another name or remove it first");
}

// Gives `temporary` the name `path` unless that exists; returns 0 or an errno. link() refuses without a race; file
// systems without hard links (FAT, some network mounts) answer EPERM or ENOTSUP and may know the newer rename.
int PublishNew(const std::string& temporary, const std::string& path) {
  if (::link(temporary.c_str(), path.c_str()) == 0) {
    ::unlink(temporary.c_str());
    return 0;
  }
  const int error = errno;
#ifdef RENAME_NOREPLACE
  if (error == EPERM || error == ENOTSUP) {
    return ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  }
#endif
  return error;
}

}  // namespace

Result<AtomicFile> AtomicFile::Create(const std::filesystem::path& path, IfExists if_exists, unsigned mode) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    return Fail(Code::kInvalidArgument, "{} is a folder; a file is written here", path.string());
  }
  if (if_exists == IfExists::kFail && std::filesystem::exists(status)) return FailExists(path);
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return FailErrno("create a temporary file beside", path, errno);
  // It was made with mode 0600; a file system without permissions may refuse, which leaves nothing more open than
  // asked.
  [[maybe_unused]] const int permitted = ::fchmod(fd, mode);
  return AtomicFile(path, temporary, fd, if_exists);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)),
      if_exists_(other.if_exists_),
      buffer_(std::move(other.buffer_)),
      size_bytes_(other.size_bytes_) {}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  ::unlink(temporary_.c_str());
}

tl::unexpected<Error> AtomicFile::FailWrite(std::string_view action, int error) {
  Discard();
  return FailErrno(action, path_, error);
}

Status AtomicFile::Write(std::span<const std::byte> bytes) {
  size_bytes_ += bytes.size();
  if (buffer_.size() + bytes.size() < kWriteBufferBytes) {
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  QUERN_TRY(WriteOut(std::as_bytes(std::span(buffer_))));
  buffer_.clear();
  return WriteOut(bytes);
}

Status AtomicFile::WriteOut(std::span<const std::byte> bytes) {
  if (fd_ < 0)
    return Fail(Code::kFailedPrecondition, "{} is closed: an earlier write or its commit ended it", path_.string());
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FailWrite(fmt::format("write {} bytes to", size_bytes_), errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

Status AtomicFile::Commit() {
  QUERN_TRY(WriteOut(std::as_bytes(std::span(buffer_))));
  if (::fsync(fd_) != 0) return FailWrite("flush", errno);
  // Network file systems report a full disk no earlier than here.
  if (::close(std::exchange(fd_, -1)) != 0) {
    const int error = errno;
    ::unlink(temporary_.c_str());
    return FailErrno("close", path_, error);
  }
  int error = 0;
  if (if_exists_ == IfExists::kFail) {
    error = PublishNew(temporary_.string(), path_.string());
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary_.c_str());
    return error == EEXIST ? Status(FailExists(path_)) : Status(FailErrno("publish", path_, error));
  }
  // The file is published now. Some file systems cannot sync a folder, so that is tried and not insisted on.
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
