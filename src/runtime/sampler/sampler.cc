#include "runtime/sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::runtime {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// The best token; ties to the lower id. -1 when a NaN is met or nothing is finite.
int32_t Argmax(std::span<const float> logits) {
  float best = kNever;
  int32_t best_id = -1;
  bool has_nan = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    has_nan |= std::isnan(logits[i]);
    if (logits[i] > best) {
      best = logits[i];
      best_id = static_cast<int32_t>(i);
    }
  }
  return has_nan ? -1 : best_id;
}

}  // namespace

void Sampler::AcceptPrompt(std::span<const int32_t> ids) {
  if (params_.repeat_penalty == 1.0f) return;
  for (const int32_t id : ids) ++seen_[id];
}

void Sampler::Accept(int32_t id) {
  ++generated_[id];
  ++seen_[id];
}

bool Sampler::edits_logits() const {
  return params_.repeat_penalty != 1.0f || params_.presence_penalty != 0.0f || params_.frequency_penalty != 0.0f ||
         !params_.logit_bias.empty() || !params_.suppress.empty();
}

void Sampler::EditLogits() {
  const auto at = [&](int32_t id) -> float* {
    return id >= 0 && static_cast<size_t>(id) < edited_.size() ? &edited_[id] : nullptr;
  };
  if (params_.repeat_penalty != 1.0f) {
    for (const auto& [id, count] : seen_) {
      if (float* logit = at(id))
        *logit = *logit > 0 ? *logit / params_.repeat_penalty : *logit * params_.repeat_penalty;
    }
  }
  for (const auto& [id, count] : generated_) {
    if (float* logit = at(id))
      *logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(count);
  }
  for (const auto& [id, bias] : params_.logit_bias) {
    if (float* logit = at(id)) *logit += bias;
  }
  for (const int32_t id : params_.suppress) {
    if (float* logit = at(id)) *logit = kNever;
  }
}

double Sampler::NextUniform() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Result<int32_t> Sampler::Sample(std::span<const float> logits) {
  if (edits_logits()) {
    edited_.assign(logits.begin(), logits.end());
    EditLogits();
    logits = edited_;
  }
  const int32_t best = Argmax(logits);
  if (best < 0 || !std::isfinite(logits[best])) {
    return Fail(Code::kInternal, "the model produced logits that are not finite");
  }
  if (params_.temperature == 0.0f) return best;
  return SampleFiltered(logits);
}

int32_t Sampler::SampleFiltered(std::span<const float> logits) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] != kNever) candidates_.push_back({logits[i] / params_.temperature, static_cast<int32_t>(i)});
  }
  if (params_.top_k > 0 && static_cast<size_t>(params_.top_k) < candidates_.size()) {
    std::ranges::nth_element(candidates_, candidates_.begin() + params_.top_k, better);
    candidates_.resize(params_.top_k);
  }
  std::ranges::sort(candidates_, better);

  const double best = candidates_.front().logit;
  probabilities_.resize(candidates_.size());
  double sum = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) sum += probabilities_[i] = std::exp(candidates_[i].logit - best);
  size_t kept = candidates_.size();
  if (params_.top_p < 1.0f) {
    double before = 0;
    for (kept = 0; kept < candidates_.size() && (kept == 0 || before < params_.top_p * sum); ++kept)
      before += probabilities_[kept];
  }
  if (params_.min_p > 0.0f) {
    // The best token's unnormalised probability is 1.
    while (kept > 1 && probabilities_[kept - 1] < params_.min_p) --kept;
  }
  double kept_sum = 0;
  for (size_t i = 0; i < kept; ++i) kept_sum += probabilities_[i];
  double target = NextUniform() * kept_sum;
  for (size_t i = 0; i < kept; ++i) {
    target -= probabilities_[i];
    if (target < 0) return candidates_[i].id;
  }
  return candidates_[kept - 1].id;
}

Logprobs ComputeLogprobs(std::span<const float> logits, int32_t id, int num_top) {
  const float best = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  const double log_sum = best + std::log(sum);
  Logprobs result;
  result.logprob = static_cast<float>(logits[id] - log_sum);
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const size_t count = std::min<size_t>(num_top, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  for (size_t i = 0; i < count; ++i) result.top.emplace_back(order[i], static_cast<float>(logits[order[i]] - log_sum));
  return result;
}

}  // namespace quern::runtime
