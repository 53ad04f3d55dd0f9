// JoinTable: the pairs of neighbouring code points that some merge could bring together. Between any other two the text
// may be cut before merging without changing the result: no merge ever spans the cut, so both sides merge as they would
// alone. That turns a line into short segments, most of them words, which repeat and can be cached.
// Built once, then read by any thread.
#pragma once

#include <array>
#include <cstdint>

#include "text/flat_map.h"
#include "text/utf8.h"

namespace quern::text {

class JoinTable {
 public:
  void Add(char32_t left, char32_t right) {
    left = Compact(left);
    right = Compact(right);
    if ((left | right) < 128) {
      ascii_[2 * left + right / 64] |= uint64_t{1} << (right % 64);
    } else {
      others_[Key(left, right)] = 1;
    }
  }
  bool Contains(char32_t left, char32_t right) const {
    left = Compact(left);
    right = Compact(right);
    if ((left | right) < 128) return (ascii_[2 * left + right / 64] >> (right % 64)) & 1;
    return others_.Find(Key(left, right)) != nullptr;
  }

 private:
  // Escaped text has no ' ', so its place in the small table is free for "▁", the most frequent code point of all.
  static char32_t Compact(char32_t code_point) { return code_point == kSpaceMark ? U' ' : code_point; }
  static uint64_t Key(char32_t left, char32_t right) { return uint64_t{left} << 32 | right; }

  std::array<uint64_t, 256> ascii_{};
  FlatMap<uint8_t> others_;
};

}  // namespace quern::text
