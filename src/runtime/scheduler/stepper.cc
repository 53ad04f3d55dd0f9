#include "runtime/scheduler/stepper.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace quern::runtime {

Status Stepper::RunChunk(KvSequence* sequence, std::span<const int32_t> ids, std::span<const int32_t> kept) {
  const auto rows = static_cast<int64_t>(ids.size());
  for (const int32_t id : ids) {
    if (id < 0 || id >= program_.vocab_size) {
      return Fail(Code::kInvalidArgument, "token id {} is outside the vocabulary of {}", id, program_.vocab_size);
    }
  }
  QUERN_TRY(sequence->Reserve(rows));
  positions_.resize(ids.size());
  std::iota(positions_.begin(), positions_.end(), static_cast<int32_t>(sequence->length()));
  sequence_of_.assign(ids.size(), 0);
  const ops::KvSequenceView view = sequence->View();
  ops::StepInputs inputs;
  inputs.ids = ids;
  inputs.positions = positions_;
  inputs.sequence_of = sequence_of_;
  inputs.kept = kept;
  inputs.sequences = {&view, 1};
  inputs.pools = cache_.pools();
  QUERN_TRY(executor_.Run(inputs));
  sequence->Advance(rows);
  ++num_steps_;
  return {};
}

Status Stepper::Append(KvSequence* sequence, std::span<const int32_t> ids, std::span<const int32_t> kept,
                       const std::atomic<bool>* cancel, const LogitsFn& on_logits) {
  size_t next_kept = 0;
  for (size_t begin = 0; begin < ids.size();) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return Fail(Code::kCancelled, "interrupted");
    // A chunk ends early where its kept rows would be too many.
    size_t end = std::min(ids.size(), begin + static_cast<size_t>(max_step_rows_));
    kept_.clear();
    const size_t first_kept = next_kept;
    while (next_kept < kept.size() && static_cast<size_t>(kept[next_kept]) < end) {
      if (kept_.size() == static_cast<size_t>(max_kept_)) {
        end = static_cast<size_t>(kept[next_kept]);
        break;
      }
      kept_.push_back(kept[next_kept++] - static_cast<int32_t>(begin));
    }
    QUERN_TRY(RunChunk(sequence, ids.subspan(begin, end - begin), kept_));
    if (!kept_.empty()) QUERN_TRY(on_logits(first_kept, executor_.Read(program_.logits)));
    begin = end;
  }
  return {};
}

Result<std::span<const float>> Stepper::AppendForLast(KvSequence* sequence, std::span<const int32_t> ids,
                                                      const std::atomic<bool>* cancel) {
  QUERN_CHECK(!ids.empty());
  const int32_t last = static_cast<int32_t>(ids.size()) - 1;
  std::span<const float> logits;
  QUERN_TRY(Append(sequence, ids, {&last, 1}, cancel, [&](size_t, std::span<const float> rows) -> Status {
    logits = rows;
    return {};
  }));
  return logits;
}

}  // namespace quern::runtime
