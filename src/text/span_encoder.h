// The merge algorithm that both encoders share: cut a span where nothing can merge, look a segment up among those of
// the same call, else merge its code points by priority.
//
// Merging repeats "take the adjacent pair with the lowest rank, the leftmost on ties" until no pair has a rank. A queue
// over (rank, position) with lazy deletion and a linked list do that in O(n log n), which matters because a segment can
// be long: a line of Chinese, or a megabyte of one letter.
//
// Rules says what merges:
//   TokenId Symbol(char32_t code_point, std::string_view bytes) const;  // id of a single code point, -1: none
//   Merge Find(const Symbol& left, const Symbol& right, std::string_view segment) const;
//   void Emit(int32_t id, std::string_view bytes, std::vector<TokenId>* ids) const;
//   bool EmitWhole(std::string_view segment, std::vector<TokenId>* ids) const;  // true: no merging wanted
//   const JoinTable& joins() const;
//   uint32_t num_ranks() const;  // above every rank
#pragma once

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "text/join_table.h"
#include "text/merge_queue.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace quern::text {

inline constexpr uint32_t kNoRank = ~uint32_t{0};

struct Merge {
  uint32_t rank = kNoRank;  // the lower the earlier
  int32_t id = -1;          // of the product
};

// A piece in the making: bytes [begin, end) of the segment.
struct alignas(32) MergeSymbol {
  int32_t id = -1;  // the rules' own numbering; -1: a code point they do not know
  uint32_t begin = 0, end = 0;
  int32_t previous = -1, next = -1;  // live neighbours
  Merge merge;                       // with `next`
};

template <class Rules>
class SpanEncoder {
 public:
  SpanEncoder(const Rules& rules, std::vector<TokenId>* ids) : rules_(rules), ids_(*ids) {}

  // `span` is escaped text ("▁" for ' '), of which earlier spans of this encoder keep nothing.
  void Encode(std::string_view span) {
    span_ = span;
    slots_.assign(span.size() < kMinCachedSpan ? 0 : std::bit_ceil(std::min(span.size() / 16, kMaxSlots)), Slot{});
    size_t begin = 0;
    char32_t previous = 0;
    for (size_t at = 0; at < span.size();) {
      const Utf8Step step = NextUtf8(span.substr(at));
      const bool complete = step.state == Utf8State::kComplete;
      if (at > begin &&
          (!complete || !rules_.joins().Contains(previous, step.code_point) || at - begin > kMaxSegmentBytes)) {
        EncodeSegment(begin, at);
        begin = at;
      }
      at += step.length;
      previous = step.code_point;
      if (!complete) {
        rules_.Emit(-1, span.substr(begin, at - begin), &ids_);
        begin = at;
      }
    }
    if (begin < span.size()) EncodeSegment(begin, span.size());
  }

 private:
  static constexpr size_t kMinCachedSpan = 256;  // below, clearing slots costs more than it saves
  static constexpr size_t kMaxSlots = 1 << 13;   // 192 KiB: stays in the second-level cache
  static constexpr size_t kMaxCachedSegment = 64;
  static constexpr size_t kLongSegment = 1 << 14;      // symbols; below, clearing the buckets costs more than they save
  static constexpr size_t kMaxSegmentBytes = 1 << 30;  // positions are 32 bits

  // An earlier segment of this span and where its ids lie in the output: nothing is copied, nothing is shared.
  struct Slot {
    size_t begin = 0;
    size_t ids_begin = 0;
    uint32_t length = 0;  // 0: free
    uint32_t ids_count = 0;
  };

  void EncodeSegment(size_t begin, size_t end) {
    const std::string_view segment = span_.substr(begin, end - begin);
    if (slots_.empty() || segment.size() > kMaxCachedSegment) return MergeSegment(segment);
    Slot& slot = slots_[MixBits(std::hash<std::string_view>{}(segment)) & (slots_.size() - 1)];
    if (slot.length == segment.size() && span_.substr(slot.begin, slot.length) == segment) {
      const size_t old_size = ids_.size();
      ids_.resize(old_size + slot.ids_count);
      std::copy_n(ids_.begin() + slot.ids_begin, slot.ids_count, ids_.begin() + old_size);
      return;
    }
    const size_t ids_begin = ids_.size();
    MergeSegment(segment);
    slot = {begin, ids_begin, static_cast<uint32_t>(segment.size()), static_cast<uint32_t>(ids_.size() - ids_begin)};
  }

  void MergeSegment(std::string_view segment) {
    if (rules_.EmitWhole(segment, &ids_)) return;
    SetSymbols(segment);
    if (symbols_.size() < kLongSegment) {
      words_.Clear();
      MergeSymbols(segment, &words_);
    } else {
      long_.Reset(rules_.num_ranks());
      MergeSymbols(segment, &long_);
    }
    for (int32_t at = 0; at >= 0; at = symbols_[at].next) {
      const MergeSymbol& symbol = symbols_[at];
      rules_.Emit(symbol.id, segment.substr(symbol.begin, symbol.end - symbol.begin), &ids_);
    }
  }

  void SetSymbols(std::string_view segment) {
    symbols_.clear();
    for (uint32_t at = 0; at < segment.size();) {
      const Utf8Step step = NextUtf8(segment.substr(at));
      const auto index = static_cast<int32_t>(symbols_.size());
      symbols_.push_back({.id = rules_.Symbol(step.code_point, segment.substr(at, step.length)),
                          .begin = at,
                          .end = at + step.length,
                          .previous = index - 1,
                          .next = index + 1});
      at += step.length;
    }
    symbols_.back().next = -1;
  }

  template <class Queue>
  void MergeSymbols(std::string_view segment, Queue* queue) {
    for (size_t i = 0; i + 1 < symbols_.size(); ++i) Refresh(segment, static_cast<int32_t>(i), queue);
    for (MergeCandidate candidate; queue->Pop(&candidate);) {
      const int32_t index = candidate.position;
      MergeSymbol& left = symbols_[index];
      if (left.merge.rank != candidate.rank) continue;  // the pair is gone
      MergeSymbol& right = symbols_[left.next];
      left.id = left.merge.id;
      left.end = right.end;
      left.next = right.next;
      right.merge = {};
      if (left.next >= 0) symbols_[left.next].previous = index;
      Refresh(segment, index, queue);
      if (left.previous >= 0) Refresh(segment, left.previous, queue);
    }
  }

  // Looks the pair that starts at `index` up.
  template <class Queue>
  void Refresh(std::string_view segment, int32_t index, Queue* queue) {
    MergeSymbol& symbol = symbols_[index];
    symbol.merge = symbol.next < 0 ? Merge{} : rules_.Find(symbol, symbols_[symbol.next], segment);
    if (symbol.merge.rank != kNoRank) queue->Push(symbol.merge.rank, index);
  }

  const Rules& rules_;
  std::vector<TokenId>& ids_;
  std::string_view span_;
  std::vector<Slot> slots_;
  std::vector<MergeSymbol> symbols_;
  HeapQueue words_;
  BucketQueue long_;
};

}  // namespace quern::text
