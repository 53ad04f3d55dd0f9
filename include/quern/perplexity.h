// Perplexity and KL divergence of a model on a text, chunked.
//
// Definition: the text is tokenized once and cut into chunks of `context` tokens that begin every `stride` tokens. Each
// chunk's first token is replaced by nothing: the model sees the chunk's tokens from position 0 (with <bos> in front
// when add_bos). Tokens from `score_from` on are scored, each given the earlier tokens of its chunk; perplexity is
// exp(mean negative log-likelihood) over all scored tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/model.h"

namespace quern {

struct PerplexityOptions {
  int64_t context = 512;
  int64_t stride = 0;       // 0: context (no overlap)
  int64_t max_chunks = 0;   // 0: all
  int64_t score_from = -1;  // first scored index of a chunk; -1: context / 2 (as llama.cpp); 1: all but the first
  bool add_bos = true;      // <bos> replaces the first token of each chunk
  bool parse_special = false;
  std::string kl_base_out;  // write the log-probabilities here
  std::string kl_base_in;   // and compare with those of another run
  ProgressFn progress;
};

struct PerplexityResult {
  double perplexity = 0;
  double standard_error = 0;  // of the perplexity
  int64_t scored_tokens = 0, chunks = 0;
  double mean_kl = 0;         // nats; with kl_base_in
  double top1_agreement = 0;  // fraction
  double seconds = 0;
};
Result<PerplexityResult> MeasurePerplexity(const std::shared_ptr<Model>& model, std::string_view text,
                                           const PerplexityOptions& options);
// The same over token ids.
Result<PerplexityResult> MeasurePerplexityOfTokens(const std::shared_ptr<Model>& model, std::span<const TokenId> ids,
                                                   const PerplexityOptions& options);

}  // namespace quern
