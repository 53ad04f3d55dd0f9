// Sampler: one row of logits to one token.
//
// Order of the filters, everywhere the same: penalties and logit bias, suppressed tokens, temperature, top-k, top-p,
// min-p. Ties go to the lower id; at least one token survives. Definitions: repeat penalty as in arXiv 1909.05858 over
// all tokens seen (prompt included); presence and frequency penalties as in the OpenAI API, over generated tokens;
// top-p keeps the most probable tokens until their mass reaches p; min-p keeps tokens at least min_p times as probable
// as the best. One per stream, one thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"

namespace quern::runtime {

struct SamplerParams {
  float temperature = 1;  // 0 = greedy
  int top_k = 0;          // 0 = off
  float top_p = 1;
  float min_p = 0;
  float repeat_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;
  std::vector<int32_t> suppress;  // never sampled
  uint64_t seed = 0;
};

class Sampler {
 public:
  explicit Sampler(SamplerParams params) : params_(std::move(params)), state_(params_.seed) {}

  // A token of the prompt: counts for the repeat penalty.
  void AcceptPrompt(std::span<const int32_t> ids);
  // A generated token: counts for all penalties.
  void Accept(int32_t id);

  // Internal when a logit is NaN or all are -inf: the model's numbers went wrong, and nothing is guessed.
  Result<int32_t> Sample(std::span<const float> logits);

  const SamplerParams& params() const { return params_; }

 private:
  struct Candidate {
    float logit;
    int32_t id;
  };
  bool edits_logits() const;
  void EditLogits();
  double NextUniform();  // [0, 1)
  int32_t SampleFiltered(std::span<const float> logits);

  SamplerParams params_;
  std::unordered_map<int32_t, int> generated_;  // id -> times generated
  std::unordered_map<int32_t, int> seen_;       // id -> times seen, prompt included
  std::vector<float> edited_;
  std::vector<Candidate> candidates_;
  std::vector<double> probabilities_;
  uint64_t state_;  // of the generator: SplitMix64, so a seed means the same on every platform
};

// The log-probability of `id` and of the `num_top` best tokens, from raw logits (after the model's softcap).
struct Logprobs {
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;  // best first
};
Logprobs ComputeLogprobs(std::span<const float> logits, int32_t id, int num_top);

}  // namespace quern::runtime
