// Files: mapping for reading, whole reads with a limit, and writing that is published whole or not at all.
// All functions may be called from any thread; an object belongs to one thread at a time unless it says const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace quern {

// A file mapped read-only. Shared: tensors that point into it keep it alive. A file that another process truncates
// while it is mapped raises SIGBUS on access, as with any mmap.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size_bytes)
      : path_(std::move(path)), data_(data), size_bytes_(size_bytes) {}
  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_bytes_;
};

// Reads a whole regular file; larger than limit_bytes is ResourceExhausted, missing is NotFound.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit_bytes = size_t{64} << 20);

// Writes to a temporary name beside path and renames it into place on Commit, after fsync of the file. Without Commit
// (an error, a signal handler that unwinds) the temporary file is removed and path is untouched. The first failure is
// final: the temporary file goes at once, and later calls are FailedPrecondition. A symbolic link at path is replaced.
class AtomicFile {
 public:
  enum class IfExists : uint8_t { kReplace, kFail };
  // mode: permission bits of the new file.
  static Result<AtomicFile> Create(const std::filesystem::path& path, IfExists if_exists, unsigned mode = 0644);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Appends; a full disk is ResourceExhausted and names the path and the number of bytes.
  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text) { return Write(std::as_bytes(std::span(text))); }
  uint64_t size_bytes() const { return size_bytes_; }  // accepted by Write so far
  // Once. With kFail, a file that has appeared at path in the meantime is InvalidArgument and stays.
  Status Commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd, IfExists if_exists)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), if_exists_(if_exists) {}
  Status WriteOut(std::span<const std::byte> bytes);
  tl::unexpected<Error> FailWrite(std::string_view action, int error);
  void Discard();
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  IfExists if_exists_ = IfExists::kReplace;
  std::string buffer_;
  uint64_t size_bytes_ = 0;
};

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);

}  // namespace quern
