// Measuring prompt and decode speed. Definitions (docs/benchmarks.md): prompt tok/s = evaluated prompt tokens / prefill
// time; decode tok/s = (generated - 1) / (time of last token - time of first token).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/error.h"
#include "quern/model.h"

namespace quern {

struct BenchOptions {
  std::vector<int64_t> prompt_tokens = {512};
  std::vector<int64_t> generate_tokens = {128};
  std::vector<int64_t> depths = {0};  // tokens in the cache before the measured part
  int reps = 5;
  int warmup = 1;
  uint64_t seed = 1;  // of the random prompt tokens
  ProgressFn progress;
};

struct BenchRow {
  std::string kind;  // "pp" or "tg"
  int64_t tokens = 0, depth = 0;
  std::vector<double> tokens_per_second;  // per repetition, warm-up excluded
  double median = 0, min = 0, max = 0, stddev = 0;
  std::string output_hash;  // of the generated tokens; the same in every repetition, or "differs"
};

struct BenchReport {
  std::vector<BenchRow> rows;
  int64_t peak_memory_bytes = 0;
  std::string prompt_hash;
};
Result<BenchReport> RunBench(const std::shared_ptr<Model>& model, const BenchOptions& options);

}  // namespace quern
