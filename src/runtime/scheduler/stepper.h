// Stepper: feeds tokens to a model, chunk by chunk, and hands out the logits that were asked for.
//
// It builds the inputs of one step for one sequence. Prompts are cut into chunks of at most max_step_rows rows, and a
// chunk whose logits nobody wants keeps no rows, so that the program skips its tail. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ops/program/executor.h"
#include "runtime/kv/kv_cache.h"

namespace quern::runtime {

class Stepper {
 public:
  // max_step_rows and max_kept are the executor's limits.
  Stepper(ops::Executor& executor, const ops::Program& program, KvCache& cache, int max_step_rows, int max_kept)
      : executor_(executor), program_(program), cache_(cache), max_step_rows_(max_step_rows), max_kept_(max_kept) {}

  // Appends `ids` to the sequence. `kept`: ascending indices into ids whose logits are wanted; each chunk's kept logits
  // are passed to on_logits as (index into kept of the first row, rows [n, V]). `cancel` is checked between chunks:
  // Cancelled leaves the sequence with the chunks that were done (its length tells). `on_logits` may be empty: then
  // kept must be.
  using LogitsFn = std::function<Status(size_t first_kept, std::span<const float> rows)>;
  Status Append(KvSequence* sequence, std::span<const int32_t> ids, std::span<const int32_t> kept,
                const std::atomic<bool>* cancel, const LogitsFn& on_logits);

  // Appends ids and returns the logits [V] of the last one, valid until the next step.
  Result<std::span<const float>> AppendForLast(KvSequence* sequence, std::span<const int32_t> ids,
                                               const std::atomic<bool>* cancel);

  int64_t num_steps() const { return num_steps_; }

 private:
  Status RunChunk(KvSequence* sequence, std::span<const int32_t> ids, std::span<const int32_t> kept);

  ops::Executor& executor_;
  const ops::Program& program_;
  KvCache& cache_;
  const int max_step_rows_, max_kept_;
  std::vector<int32_t> positions_, sequence_of_, kept_;
  int64_t num_steps_ = 0;
};

}  // namespace quern::runtime
