#include "runtime/session/cached_sequence.h"

#include <algorithm>

namespace quern::runtime {
namespace {

int64_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

Result<CachedSequence> CachedSequence::Create(KvCache* cache) {
  QUERN_ASSIGN_OR_RETURN(KvSequence live, cache->NewSequence());
  return CachedSequence(std::move(live));
}

Result<int64_t> CachedSequence::Reuse(std::span<const int32_t> ids) {
  const int64_t usable = static_cast<int64_t>(ids.size()) - 1;
  const int64_t wanted = std::min(CommonPrefix(tokens_, ids), usable);
  if (live_.CanTruncate(wanted)) {
    live_.Truncate(wanted);
  } else {
    const int64_t held = snapshot_ ? std::min(CommonPrefix(snapshot_tokens_, ids), usable) : 0;
    if (held > 0 && snapshot_->CanTruncate(held)) {
      live_.Truncate(0);
      live_ = std::move(*snapshot_);
      live_.Truncate(held);
      tokens_ = snapshot_tokens_;
      snapshot_.reset();
      snapshot_tokens_.clear();
    } else {
      live_.Truncate(0);
    }
  }
  tokens_.resize(static_cast<size_t>(live_.length()));
  return live_.length();
}

void CachedSequence::Appended(std::span<const int32_t> ids) {
  const auto done = ids.first(static_cast<size_t>(live_.length()) - tokens_.size());
  tokens_.insert(tokens_.end(), done.begin(), done.end());
}

void CachedSequence::TakeSnapshot() {
  snapshot_.reset();
  Result<KvSequence> fork = live_.Fork();
  if (!fork) {
    ++num_skipped_snapshots_;
    snapshot_tokens_.clear();
    return;
  }
  snapshot_ = std::move(*fork);
  snapshot_tokens_ = tokens_;
}

void CachedSequence::Clear() {
  live_.Truncate(0);
  snapshot_.reset();
  tokens_.clear();
  snapshot_tokens_.clear();
}

}  // namespace quern::runtime
