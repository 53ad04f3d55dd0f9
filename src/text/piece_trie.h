// PieceTrie: the longest of a set of strings that a text starts with. For special tokens and user-defined pieces.
// Built once, then read by any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/flat_map.h"

namespace quern::text {

class PieceTrie {
 public:
  struct Match {
    int32_t id = -1;    // -1: none
    size_t length = 0;  // bytes
  };

  // Empty strings are ignored; the same string again replaces its id.
  void Add(std::string_view piece, int32_t id);
  Match LongestPrefix(std::string_view text) const;
  // The first position at or after `from` where LongestPrefix matches, with the match; text.size() when there is none.
  size_t FindNext(std::string_view text, size_t from, Match* match) const;

 private:
  static uint64_t Edge(int32_t node, char byte) { return uint64_t{static_cast<uint32_t>(node)} << 8 | uint8_t(byte); }

  std::array<bool, 256> starts_{};
  FlatMap<int32_t> children_;        // Edge(node, byte) to node; the root is node 0
  std::vector<int32_t> ids_ = {-1};  // by node; -1: no piece ends here
};

}  // namespace quern::text
