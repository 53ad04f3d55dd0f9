// The lines typed in earlier chats: $XDG_STATE_HOME/quern/history, mode 0600, at most 1000 entries, several processes
// may append. Entries keep their line breaks. Lines that begin with a space and lines that look like they hold a secret
// are not stored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::cli {

class HistoryFile {
 public:
  // Empty path: nothing is read or stored.
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}
  static std::string DefaultPath();

  // Oldest first. A file that cannot be read is an empty history: it is a convenience, not data.
  std::vector<std::string> Load() const;
  void Append(std::string_view entry) const;

  static bool MayStore(std::string_view entry);

 private:
  std::string path_;
};

}  // namespace quern::cli
