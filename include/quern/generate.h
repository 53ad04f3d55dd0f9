// Generating text: one request to one answer, streamed. Chat, completion, server and benches all come through here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/chat.h"
#include "quern/error.h"
#include "quern/model.h"

namespace quern {

// Sampling parameters. Unset fields take the model's own defaults, then 1.0 / 0 / 1.0 / 0.
// Filters apply in this order: penalties and bias, temperature, top-k, top-p, min-p; ties go to the lower id; at least
// one token survives.
struct SamplingParams {
  std::optional<float> temperature;  // 0 to 2; 0 = greedy
  std::optional<int> top_k;          // 0 = off
  std::optional<float> top_p;        // (0, 1]
  std::optional<float> min_p;        // [0, 1]
  float repeat_penalty = 1;          // > 0; 1 = off
  float presence_penalty = 0;        // -2 to 2
  float frequency_penalty = 0;       // -2 to 2
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::optional<uint64_t> seed;  // unset: random; the one used is in the result
};
// InvalidArgument naming field, value and range.
Status Validate(const SamplingParams& params);

struct GenerateRequest {
  // The prompt, one of: messages (rendered by the model's chat format), text (raw: <bos> is added once when missing),
  // ids.
  std::vector<ChatMessage> messages;
  std::optional<std::string> text;
  std::optional<std::vector<TokenId>> ids;
  ChatOptions chat;
  bool parse_special = true;  // of `text`: recognise special tokens

  SamplingParams sampling;
  int64_t max_tokens = -1;                    // -1: until the context ends
  std::vector<std::string> stop;              // strings that end the answer; not part of it
  bool ignore_eos = false;                    // benchmarks
  int logprobs = 0;                           // top alternatives to report per token, 0 to 20; 0: none
  const std::atomic<bool>* cancel = nullptr;  // checked between steps; set it from any thread or a signal handler
};

enum class FinishReason : uint8_t { kStop, kLength, kInterrupted, kToolCalls };
std::string_view NameOf(FinishReason reason);  // "stop", "length", "interrupted", "tool_calls"

struct TokenLogprob {
  TokenId id = 0;
  std::string text;  // bytes of the token
  float logprob = 0;
  std::vector<std::pair<TokenId, float>> top;
};

// A piece of the answer: complete UTF-8.
struct Delta {
  enum class Kind : uint8_t { kText, kThinking, kToolCall } kind = Kind::kText;
  std::string text;
  ChatToolCall tool_call;
  int64_t num_tokens = 0;  // generated so far, thinking included
};
// Returning false stops the generation (finish reason interrupted).
using DeltaFn = std::function<bool(const Delta&)>;

struct GenerateStats {
  int64_t prompt_tokens = 0, cached_tokens = 0;  // cached: reused from an earlier turn
  int64_t generated_tokens = 0, thinking_tokens = 0;
  double prefill_seconds = 0;        // evaluating prompt_tokens - cached_tokens
  double decode_seconds = 0;         // from the first to the last generated token
  double first_token_seconds = 0;    // submission to first token
  double first_visible_seconds = 0;  // to the first visible text; 0 when there was none
  int64_t context_used = 0, context = 0;
  int64_t num_fallbacks = 0;  // routes that were not the first choice in this request
};

struct GenerateResult {
  ChatMessage message;       // assistant: content, thinking, tool calls
  std::vector<TokenId> ids;  // all generated tokens, the end token included
  FinishReason finish = FinishReason::kStop;
  std::string stop_string;  // which one ended it, when one did
  uint64_t seed = 0;        // the seed used
  std::vector<TokenLogprob> logprobs;
  GenerateStats stats;
};

// A conversation's cache: consecutive requests that share a prefix evaluate only what is new, with results equal to a
// cold run. One request at a time per session. Destroying it frees its pages.
class Session {
 public:
  virtual ~Session() = default;
  // Positions held now.
  virtual int64_t num_tokens() const = 0;
  virtual void Clear() = 0;
};
Result<std::unique_ptr<Session>> NewSession(const std::shared_ptr<Model>& model);

// Runs the request. session may be null (a cold run). Errors come before the first delta whenever they can: an overlong
// prompt is ResourceExhausted with both numbers.
Result<GenerateResult> Generate(const std::shared_ptr<Model>& model, Session* session, const GenerateRequest& request,
                                const DeltaFn& on_delta);

// The tokens that a request's prompt becomes.
Result<std::vector<TokenId>> PromptTokens(const std::shared_ptr<Model>& model, const GenerateRequest& request);

// Logits [num_kept, V] of a raw token sequence, evaluated cold in chunks: for tests and tools.
// kept: ascending positions whose logits are wanted.
struct EvaluatedLogits {
  int64_t vocab_size = 0;
  std::vector<float> logits;  // [kept, V] f32, after the softcap
};
Result<EvaluatedLogits> EvaluateLogits(const std::shared_ptr<Model>& model, std::span<const TokenId> ids,
                                       std::span<const int32_t> kept);

}  // namespace quern
