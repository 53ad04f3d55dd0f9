// Two queues of candidate merges with one meaning: Pop gives the least (rank, position). Entries are never taken out
// when a pair goes away; the caller recognises stale ones.
//
// HeapQueue is a binary heap, best for words. A segment of a million symbols makes it miss the cache at every level;
// BucketQueue therefore keeps one list per rank and walks ranks and positions upwards, which touches memory in order.
// Measured on a 1 MB segment: see docs/tokenization.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

namespace quern::text {

struct MergeCandidate {
  uint32_t rank = 0;
  int32_t position = 0;
};

class HeapQueue {
 public:
  void Clear() { heap_.clear(); }
  void Push(uint32_t rank, int32_t position) {
    heap_.push_back(uint64_t{rank} << 32 | static_cast<uint32_t>(position));
    std::ranges::push_heap(heap_, std::greater<>());
  }
  // False when the queue is empty.
  bool Pop(MergeCandidate* candidate) {
    if (heap_.empty()) return false;
    std::ranges::pop_heap(heap_, std::greater<>());
    *candidate = {static_cast<uint32_t>(heap_.back() >> 32), static_cast<int32_t>(heap_.back())};
    heap_.pop_back();
    return true;
  }

 private:
  std::vector<uint64_t> heap_;
};

class BucketQueue {
 public:
  // Ranks lie below num_ranks.
  void Reset(uint32_t num_ranks) {
    heads_.assign(num_ranks, -1);
    occupied_.assign(num_ranks / 64 + 1, 0);
    nodes_.clear();
    first_word_ = occupied_.size();
  }

  void Push(uint32_t rank, int32_t position) {
    if (!runs_.empty() && runs_.back().rank == rank) return PushLate(position);
    nodes_.push_back({position, heads_[rank]});
    heads_[rank] = static_cast<int32_t>(nodes_.size()) - 1;
    occupied_[rank / 64] |= uint64_t{1} << (rank % 64);
    first_word_ = std::min<size_t>(first_word_, rank / 64);
  }

  bool Pop(MergeCandidate* candidate) {
    while (true) {
      const int64_t rank = LeastRank();
      if (rank >= 0 && (runs_.empty() || rank <= runs_.back().rank)) {
        OpenBucket(static_cast<uint32_t>(rank));
        continue;
      }
      if (runs_.empty()) return false;
      Run& run = runs_.back();
      const bool more = run.next < positions_.size();
      if (!run.late.empty() && (!more || run.late.front() < positions_[run.next])) {
        std::ranges::pop_heap(run.late, std::greater<>());
        *candidate = {run.rank, run.late.back()};
        run.late.pop_back();
        return true;
      }
      if (more) {
        *candidate = {run.rank, positions_[run.next++]};
        return true;
      }
      positions_.resize(run.begin);
      runs_.pop_back();
    }
  }

 private:
  struct Node {
    int32_t position;
    int32_t next;  // pushed before, same rank; -1: none
  };
  // A rank being worked off. A merge may bring up a lower rank: that one is put on top and worked off first.
  struct Run {
    uint32_t rank = 0;
    size_t begin = 0;           // of its part of positions_, which reaches to the next run or the end
    size_t next = 0;            // the first not yet given out
    std::vector<int32_t> late;  // a heap: positions of the same rank that came up since
  };

  int64_t LeastRank() {
    while (first_word_ < occupied_.size() && occupied_[first_word_] == 0) ++first_word_;
    if (first_word_ == occupied_.size()) return -1;
    return static_cast<int64_t>(64 * first_word_ + std::countr_zero(occupied_[first_word_]));
  }

  void PushLate(int32_t position) {
    runs_.back().late.push_back(position);
    std::ranges::push_heap(runs_.back().late, std::greater<>());
  }

  void OpenBucket(uint32_t rank) {
    const bool on_top = !runs_.empty() && runs_.back().rank == rank;
    const size_t begin = positions_.size();
    for (int32_t node = heads_[rank]; node >= 0; node = nodes_[node].next) {
      on_top ? PushLate(nodes_[node].position) : positions_.push_back(nodes_[node].position);
    }
    heads_[rank] = -1;
    occupied_[rank / 64] &= ~(uint64_t{1} << (rank % 64));
    if (on_top) return;
    const auto run = positions_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::reverse(run, positions_.end());  // as pushed: mostly in order already
    if (!std::is_sorted(run, positions_.end())) std::sort(run, positions_.end());
    runs_.push_back({.rank = rank, .begin = begin, .next = begin});
  }

  std::vector<int32_t> heads_;  // by rank: last node pushed, -1: none
  std::vector<uint64_t> occupied_;
  size_t first_word_ = 0;  // no rank below this word is occupied
  std::vector<Node> nodes_;
  std::vector<Run> runs_;           // ranks fall from bottom to top
  std::vector<int32_t> positions_;  // of all runs, one behind the other
};

}  // namespace quern::text
