// PieceIndex: piece string to id over the strings of one vocabulary, which must outlive it. Duplicates: the later id
// wins, as in llama.cpp. Empty strings mark free ids and are left out. Built once, then read by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

class PieceIndex {
 public:
  explicit PieceIndex(std::span<const std::string> pieces);
  // -1 when there is no such piece.
  int32_t Find(std::string_view piece) const { return Find(piece, Hash(piece)); }
  // In two steps, so that many look-ups can overlap their cache misses.
  static uint64_t Hash(std::string_view piece) { return std::hash<std::string_view>{}(piece); }
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  int32_t Find(std::string_view piece, uint64_t hash) const;
  // Whether some string occurs twice.
  bool has_duplicates() const { return has_duplicates_; }

 private:
  // The upper hash bits stand beside the id, so that a probe reads a string only when it is almost surely the one.
  struct Slot {
    uint32_t tag = 0;
    int32_t id = -1;
  };

  std::span<const std::string> pieces_;
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  bool has_duplicates_ = false;
};

}  // namespace quern::text
