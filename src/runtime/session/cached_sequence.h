// CachedSequence: a conversation's place in the cache, reused from turn to turn.
//
// It remembers which tokens its pages hold. A new prompt keeps the longest common prefix that the cache can still go
// back to: by truncating the live sequence, or, where the sliding windows have moved on too far (a long answer whose
// thinking is not part of the next prompt), by returning to the snapshot taken at the end of the last prompt. Reuse
// never changes a result: rows do not depend on how a prompt was cut into steps. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/kv/kv_cache.h"

namespace quern::runtime {

class CachedSequence {
 public:
  static Result<CachedSequence> Create(KvCache* cache);

  // Prepares for a prompt: returns how many of its leading tokens the cache holds (at most ids.size() - 1, since the
  // last one's logits are needed). The sequence then ends exactly there.
  Result<int64_t> Reuse(std::span<const int32_t> ids);
  // Remembers the present state, the end of a prompt, to come back to. Costs no copy. When no sequence is free for it,
  // the session works without (num_skipped_snapshots counts).
  void TakeSnapshot();
  // The caller appended these tokens to live(), or, when it was interrupted, as many of them as live()'s length tells.
  void Appended(std::span<const int32_t> ids);
  void Clear();

  KvSequence* live() { return &live_; }
  std::span<const int32_t> tokens() const { return tokens_; }
  int64_t num_skipped_snapshots() const { return num_skipped_snapshots_; }

 private:
  explicit CachedSequence(KvSequence live) : live_(std::move(live)) {}

  KvSequence live_;
  std::optional<KvSequence> snapshot_;
  std::vector<int32_t> tokens_;           // of live_, by position
  std::vector<int32_t> snapshot_tokens_;  // of snapshot_
  int64_t num_skipped_snapshots_ = 0;
};

}  // namespace quern::runtime
