#include "cli/chat/history.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/text_input.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMostEntries = 1000;
constexpr size_t kLongestEntry = size_t{1} << 16;

// One entry per line of the file.
std::string Escaped(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

std::string Unescaped(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      entry += line[++i] == 'n' ? '\n' : line[i];
    } else {
      entry += line[i];
    }
  }
  return entry;
}

// Holds the lock of the history while it lives.
class Lock {
 public:
  explicit Lock(const std::string& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (fd_ >= 0 && flock(fd_, LOCK_EX) != 0) Release();
  }
  ~Lock() { Release(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  int fd() const { return fd_; }

 private:
  void Release() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int fd_;
};

}  // namespace

std::string HistoryFile::DefaultPath() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/quern/history";
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.local/state/quern/history";
}

bool HistoryFile::MayStore(std::string_view entry) {
  if (entry.empty() || entry.front() == ' ' || entry.size() > kLongestEntry) return false;
  // Prefixes of the tokens of model hubs and of API keys.
  for (const std::string_view prefix : {"hf_", "sk-", "Bearer "}) {
    for (size_t at = entry.find(prefix); at != std::string_view::npos; at = entry.find(prefix, at + 1)) {
      const std::string_view rest = entry.substr(at + prefix.size());
      const auto end =
          std::find_if(rest.begin(), rest.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; });
      constexpr std::ptrdiff_t kShortestSecret = 16;
      if (end - rest.begin() >= kShortestSecret) return false;
    }
  }
  return true;
}

std::vector<std::string> HistoryFile::Load() const {
  std::vector<std::string> entries;
  if (path_.empty()) return entries;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) entries.push_back(Unescaped(line));
  }
  if (entries.size() > kMostEntries) entries.erase(entries.begin(), entries.end() - kMostEntries);
  return entries;
}

void HistoryFile::Append(std::string_view entry) const {
  if (path_.empty() || !MayStore(entry)) return;
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  if (error) return;
  const Lock lock(path_ + ".lock");
  if (lock.fd() < 0) return;
  std::vector<std::string> entries = Load();
  if (entries.size() + 1 <= kMostEntries) {
    const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    const std::string line = Escaped(entry) + "\n";
    static_cast<void>(!write(fd, line.data(), line.size()));
    close(fd);
    return;
  }
  entries.erase(entries.begin());
  std::string text;
  for (const std::string& kept : entries) text += Escaped(kept) + "\n";
  static_cast<void>(WritePrivateFile(path_, text + Escaped(entry) + "\n"));
}

}  // namespace quern::cli
