// StopMatcher: ends a text at the first stop string and holds back what might become one. One per stream, one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::runtime {

class StopMatcher {
 public:
  // Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // Adds text; returns what may be shown now. After a match (matched() is set) nothing more comes out.
  // Of several matches the one that begins first wins; of those that begin together, the first in the list.
  std::string Push(std::string_view text);
  // End of the stream: what was held back.
  std::string Flush();
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string pending_;
  std::optional<std::string> matched_;
};

}  // namespace quern::runtime
