// Measuring prompt and decode speed below sampling and text: the steps alone.
#include "quern/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <sys/resource.h>

#include "base/hash.h"
#include "engine/model_impl.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

std::string HashOfIds(std::span<const TokenId> ids) { return Sha256Hex(std::as_bytes(ids)).substr(0, 16); }

class Bencher {
 public:
  Bencher(Model::Impl& impl, const BenchOptions& options) : impl_(impl), options_(options) {
    std::mt19937_64 random(options.seed);
    int64_t longest = 1;
    for (const int64_t depth : options.depths) {
      for (const int64_t n : options.prompt_tokens) longest = std::max(longest, depth + n);
      for (const int64_t n : options.generate_tokens) longest = std::max(longest, depth + n);
    }
    ids_.resize(longest);
    for (TokenId& id : ids_) id = static_cast<TokenId>(random() % static_cast<uint64_t>(impl.program->vocab_size));
  }

  const std::vector<TokenId>& ids() const { return ids_; }

  // Seconds of one repetition and the hash of what came out.
  Result<std::pair<double, std::string>> Once(bool is_prompt, int64_t tokens, int64_t depth) {
    QUERN_ASSIGN_OR_RETURN(runtime::KvSequence sequence, impl_.cache->NewSequence());
    const std::span<const TokenId> all(ids_);
    if (depth > 0) QUERN_TRY(impl_.stepper->Append(&sequence, all.first(depth), {}, nullptr, {}));
    if (is_prompt) {
      const auto start = Clock::now();
      QUERN_ASSIGN_OR_RETURN(const std::span<const float> logits,
                             impl_.stepper->AppendForLast(&sequence, all.subspan(depth, tokens), nullptr));
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const TokenId best = Best(logits);
      return std::pair{seconds, HashOfIds({&best, 1})};
    }
    // The first token opens the clock: decode speed is (n - 1) tokens over the time from the first to the last.
    std::vector<TokenId> generated;
    TokenId next = all[depth > 0 ? depth - 1 : 0];
    Clock::time_point first;
    for (int64_t i = 0; i < tokens; ++i) {
      QUERN_ASSIGN_OR_RETURN(const std::span<const float> logits,
                             impl_.stepper->AppendForLast(&sequence, {&next, 1}, nullptr));
      next = Best(logits);
      generated.push_back(next);
      if (i == 0) first = Clock::now();
    }
    return std::pair{std::chrono::duration<double>(Clock::now() - first).count(), HashOfIds(generated)};
  }

  Result<BenchRow> Measure(bool is_prompt, int64_t tokens, int64_t depth, int64_t* done, int64_t total) {
    BenchRow row;
    row.kind = is_prompt ? "pp" : "tg";
    row.tokens = tokens;
    row.depth = depth;
    for (int rep = -options_.warmup; rep < options_.reps; ++rep) {
      QUERN_ASSIGN_OR_RETURN(const auto once, Once(is_prompt, tokens, depth));
      if (options_.progress && !options_.progress({"measure", ++*done, total, "runs"}))
        return Fail(Code::kCancelled, "interrupted");
      if (rep < 0) continue;
      const auto counted = static_cast<double>(is_prompt ? tokens : tokens - 1);
      row.tokens_per_second.push_back(counted / once.first);
      if (rep == 0) row.output_hash = once.second;
      if (row.output_hash != once.second) row.output_hash = "differs";
    }
    Summarise(&row);
    return row;
  }

 private:
  static TokenId Best(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
  }
  static void Summarise(BenchRow* row) {
    std::vector<double> sorted = row->tokens_per_second;
    std::ranges::sort(sorted);
    const size_t n = sorted.size();
    row->median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    row->min = sorted.front();
    row->max = sorted.back();
    double mean = 0, squares = 0;
    for (const double value : sorted) mean += value / static_cast<double>(n);
    for (const double value : sorted) squares += (value - mean) * (value - mean);
    row->stddev = n > 1 ? std::sqrt(squares / static_cast<double>(n - 1)) : 0;
  }

  Model::Impl& impl_;
  const BenchOptions& options_;
  std::vector<TokenId> ids_;
};

Status CheckOptions(const Model::Impl& impl, const BenchOptions& options) {
  if (options.reps < 1 || options.reps > 1000 || options.warmup < 0 || options.warmup > 100) {
    return Fail(Code::kInvalidArgument, "reps {} or warmup {} is out of range; 1 to 1000, 0 to 100", options.reps,
                options.warmup);
  }
  const int64_t context = impl.cache->context();
  for (const int64_t depth : options.depths) {
    if (depth < 0) return Fail(Code::kInvalidArgument, "depth {} is negative", depth);
    for (const int64_t n : options.prompt_tokens) {
      if (n < 1 || depth + n > context)
        return Fail(Code::kInvalidArgument, "prompt {} at depth {} does not fit in the context of {}", n, depth,
                    context);
    }
    for (const int64_t n : options.generate_tokens) {
      if (n < 2 || depth + n > context)
        return Fail(Code::kInvalidArgument, "{} tokens at depth {}: at least 2, within the context of {}", n, depth,
                    context);
    }
  }
  return {};
}

}  // namespace

Result<BenchReport> RunBench(const std::shared_ptr<Model>& model, const BenchOptions& options) {
  Model::Impl& impl = model->impl();
  QUERN_TRY(CheckOptions(impl, options));
  const std::lock_guard lock(impl.mutex);
  Bencher bencher(impl, options);
  BenchReport report;
  report.prompt_hash = HashOfIds(bencher.ids());
  const auto total =
      static_cast<int64_t>(options.depths.size() * (options.prompt_tokens.size() + options.generate_tokens.size())) *
      (options.reps + options.warmup);
  int64_t done = 0;
  for (const int64_t depth : options.depths) {
    for (const int64_t tokens : options.prompt_tokens) {
      QUERN_ASSIGN_OR_RETURN(BenchRow row, bencher.Measure(true, tokens, depth, &done, total));
      report.rows.push_back(std::move(row));
    }
    for (const int64_t tokens : options.generate_tokens) {
      QUERN_ASSIGN_OR_RETURN(BenchRow row, bencher.Measure(false, tokens, depth, &done, total));
      report.rows.push_back(std::move(row));
    }
  }
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  report.peak_memory_bytes = int64_t{usage.ru_maxrss} * 1024;
  return report;
}

}  // namespace quern
