// One request to one answer: prompt, prefix reuse, prefill, the decode loop, and what comes out of it.
#include "quern/generate.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "engine/chat_mapping.h"
#include "engine/model_impl.h"
#include "engine/prompt.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/cached_sequence.h"
#include "runtime/session/stop_matcher.h"
#include "text/stream_decoder.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class EngineSession final : public Session {
 public:
  EngineSession(std::shared_ptr<Model> model, runtime::CachedSequence sequence)
      : model_(std::move(model)), sequence_(std::move(sequence)) {}
  ~EngineSession() override {
    // Pages go back under the step lock, as everything that touches the cache.
    const std::lock_guard lock(model_->impl().mutex);
    const runtime::CachedSequence dying = std::move(sequence_);
  }
  int64_t num_tokens() const override { return static_cast<int64_t>(sequence_.tokens().size()); }
  void Clear() override {
    const std::lock_guard lock(model_->impl().mutex);
    sequence_.Clear();
  }
  runtime::CachedSequence& sequence() { return sequence_; }
  const std::shared_ptr<Model>& model() const { return model_; }

 private:
  std::shared_ptr<Model> model_;
  runtime::CachedSequence sequence_;
};

runtime::SamplerParams ResolveSampling(const SamplingParams& asked, const Model::Impl& impl) {
  const ModelInfo& info = impl.info;
  runtime::SamplerParams params;
  params.temperature = asked.temperature.value_or(info.sampling.temperature.value_or(1.0f));
  params.top_k = asked.top_k.value_or(info.sampling.top_k.value_or(0));
  params.top_p = asked.top_p.value_or(info.sampling.top_p.value_or(1.0f));
  params.min_p = asked.min_p.value_or(info.sampling.min_p.value_or(0.0f));
  params.repeat_penalty = asked.repeat_penalty;
  params.presence_penalty = asked.presence_penalty;
  params.frequency_penalty = asked.frequency_penalty;
  params.logit_bias = asked.logit_bias;
  params.suppress = impl.defaults.suppress;
  const std::vector<int32_t>& more = impl.tokenizer->vocabulary().suppress;
  params.suppress.insert(params.suppress.end(), more.begin(), more.end());
  params.seed = asked.seed.value_or((uint64_t{std::random_device{}()} << 32) | std::random_device{}());
  return params;
}

// Turns generated tokens into deltas and the final message: channels and tool calls when the prompt was a conversation,
// plain text otherwise; stop strings in both.
class AnswerBuilder {
 public:
  // parser: null for a raw prompt, whose answer is plain text.
  AnswerBuilder(const Model::Impl& impl, const GenerateRequest& request, std::unique_ptr<text::OutputParser> parser,
                const DeltaFn& on_delta)
      : tokenizer_(*impl.tokenizer), on_delta_(on_delta), stops_(request.stop), parser_(std::move(parser)) {
    message_.role = ChatRole::kAssistant;
  }

  // False: the receiver wants no more.
  bool Push(TokenId id) {
    ++num_tokens_;
    std::vector<text::OutputEvent> events;
    if (parser_) {
      parser_->Push(id, &events);
      if (parser_->in_thinking()) ++num_thinking_;
    } else {
      events.push_back({text::OutputEvent::Kind::kText, decoder_.Push(tokenizer_.TokenBytes(id)), {}});
    }
    return Emit(events);
  }

  bool Finish() {
    std::vector<text::OutputEvent> events;
    if (parser_) {
      parser_->Finish(&events);
    } else {
      events.push_back({text::OutputEvent::Kind::kText, decoder_.Flush(), {}});
    }
    const bool wanted = Emit(events);
    return Show(Delta::Kind::kText, stops_.Flush()) && wanted;
  }

  const std::optional<std::string>& matched_stop() const { return stops_.matched(); }
  int64_t num_thinking() const { return num_thinking_; }
  bool has_visible() const { return !message_.content.empty() || !message_.tool_calls.empty(); }
  ChatMessage TakeMessage() { return std::move(message_); }

 private:
  bool Emit(std::vector<text::OutputEvent>& events) {
    bool wanted = true;
    for (text::OutputEvent& event : events) {
      switch (event.kind) {
        case text::OutputEvent::Kind::kText:
          wanted = Show(Delta::Kind::kText, stops_.Push(event.text)) && wanted;
          break;
        case text::OutputEvent::Kind::kThinking:
          wanted = Show(Delta::Kind::kThinking, std::move(event.text)) && wanted;
          break;
        case text::OutputEvent::Kind::kToolCall: {
          message_.tool_calls.push_back(engine::FromToolCall(event.tool_call));
          Delta delta{Delta::Kind::kToolCall, {}, message_.tool_calls.back(), num_tokens_};
          wanted = (!on_delta_ || on_delta_(delta)) && wanted;
          break;
        }
      }
    }
    return wanted;
  }

  bool Show(Delta::Kind kind, std::string text) {
    if (text.empty()) return true;
    (kind == Delta::Kind::kText ? message_.content : message_.thinking) += text;
    return !on_delta_ || on_delta_(Delta{kind, std::move(text), {}, num_tokens_});
  }

  const text::Tokenizer& tokenizer_;
  const DeltaFn& on_delta_;
  runtime::StopMatcher stops_;
  std::unique_ptr<text::OutputParser> parser_;
  text::StreamDecoder decoder_;
  ChatMessage message_;
  int64_t num_tokens_ = 0, num_thinking_ = 0;
};

// The decode loop of one request, on a sequence that holds the reused prefix.
class Generation {
 public:
  Generation(Model::Impl& impl, runtime::CachedSequence& sequence, const GenerateRequest& request,
             std::unique_ptr<text::OutputParser> parser, const DeltaFn& on_delta)
      : impl_(impl),
        sequence_(sequence),
        request_(request),
        sampler_(ResolveSampling(request.sampling, impl)),
        answer_(impl, request, std::move(parser), on_delta) {}

  Result<GenerateResult> Run(std::span<const TokenId> prompt) {
    const auto start = Clock::now();
    const int64_t context = impl_.cache->context();
    result_.seed = sampler_.params().seed;
    result_.stats.context = context;
    result_.stats.prompt_tokens = static_cast<int64_t>(prompt.size());
    limit_ = context - static_cast<int64_t>(prompt.size());
    if (request_.max_tokens >= 0) limit_ = std::min(limit_, request_.max_tokens);
    QUERN_ASSIGN_OR_RETURN(result_.stats.cached_tokens, sequence_.Reuse(prompt));
    sampler_.AcceptPrompt(prompt);

    const Status status = Decode(prompt, start);
    if (!status && status.error().code != Code::kCancelled) return tl::unexpected(status.error());
    if (!status) result_.finish = FinishReason::kInterrupted;
    if (!answer_.Finish() && status) result_.finish = FinishReason::kInterrupted;
    if (answer_.matched_stop()) result_.stop_string = *answer_.matched_stop();
    result_.stats.generated_tokens = static_cast<int64_t>(result_.ids.size());
    result_.stats.thinking_tokens = answer_.num_thinking();
    result_.stats.context_used = static_cast<int64_t>(prompt.size() + result_.ids.size());
    result_.message = answer_.TakeMessage();
    if (result_.finish == FinishReason::kStop && !result_.message.tool_calls.empty())
      result_.finish = FinishReason::kToolCalls;
    return std::move(result_);
  }

 private:
  Status Decode(std::span<const TokenId> prompt, Clock::time_point start) {
    GenerateStats& stats = result_.stats;
    std::span<const TokenId> next = prompt.subspan(static_cast<size_t>(stats.cached_tokens));
    Clock::time_point first_token;
    for (;;) {
      const Result<std::span<const float>> last = impl_.stepper->AppendForLast(sequence_.live(), next, request_.cancel);
      sequence_.Appended(next);
      if (!last) return tl::unexpected(last.error());
      const std::span<const float> logits = *last;
      if (result_.ids.empty()) {
        stats.prefill_seconds = SecondsSince(start);
        sequence_.TakeSnapshot();
      }
      if (limit_ == 0) {
        result_.finish = FinishReason::kLength;
        return {};
      }
      QUERN_ASSIGN_OR_RETURN(const TokenId id, sampler_.Sample(logits));
      if (result_.ids.empty()) {
        first_token = Clock::now();
        stats.first_token_seconds = SecondsSince(start);
      }
      stats.decode_seconds = SecondsSince(first_token);
      sampler_.Accept(id);
      if (request_.logprobs > 0) RecordLogprobs(logits, id);
      result_.ids.push_back(id);
      const bool wanted = answer_.Push(id);
      if (stats.first_visible_seconds == 0 && answer_.has_visible()) stats.first_visible_seconds = SecondsSince(start);
      if (!wanted) return Fail(Code::kCancelled, "the receiver stopped");
      if (answer_.matched_stop() ||
          (!request_.ignore_eos && std::ranges::binary_search(impl_.tokenizer->end_ids(), id))) {
        result_.finish = FinishReason::kStop;
        return {};
      }
      if (static_cast<int64_t>(result_.ids.size()) >= limit_) {
        result_.finish = FinishReason::kLength;
        return {};
      }
      next = {&result_.ids.back(), 1};
    }
  }

  void RecordLogprobs(std::span<const float> logits, TokenId id) {
    runtime::Logprobs logprobs = runtime::ComputeLogprobs(logits, id, request_.logprobs);
    result_.logprobs.push_back(
        {id, std::string(impl_.tokenizer->TokenBytes(id, true)), logprobs.logprob, std::move(logprobs.top)});
  }

  Model::Impl& impl_;
  runtime::CachedSequence& sequence_;
  const GenerateRequest& request_;
  runtime::Sampler sampler_;
  AnswerBuilder answer_;
  GenerateResult result_;
  int64_t limit_ = 0;
};

Status CheckRequest(const Model::Impl& impl, const GenerateRequest& request, std::span<const TokenId> prompt) {
  QUERN_TRY(Validate(request.sampling));
  if (request.max_tokens < -1)
    return Fail(Code::kInvalidArgument, "max_tokens is {}; at least 0, or -1", request.max_tokens);
  if (request.logprobs < 0 || request.logprobs > 20)
    return Fail(Code::kInvalidArgument, "logprobs is {}; 0 to 20", request.logprobs);
  if (prompt.empty()) return Fail(Code::kInvalidArgument, "the prompt is empty");
  const int64_t context = impl.cache->context();
  if (static_cast<int64_t>(prompt.size()) >= context) {
    return WithHint(
        Fail(Code::kResourceExhausted, "the prompt has {} tokens; the context is {}", prompt.size(), context),
        "shorten it or raise --ctx");
  }
  return {};
}

// Reads the answer to a conversation, whose rendering may have opened a channel; null for a raw prompt.
Result<std::unique_ptr<text::OutputParser>> MakeParser(const Model::Impl& impl, const GenerateRequest& request) {
  if (request.messages.empty()) return nullptr;
  QUERN_ASSIGN_OR_RETURN(const text::RenderOptions render, engine::ToRenderOptions(request.chat));
  QUERN_ASSIGN_OR_RETURN(const std::vector<text::PromptPiece> pieces,
                         engine::RenderChat(impl.chat_format.get(), impl.chat_refusal, request.messages, request.chat));
  return impl.chat_format->MakeParser(pieces, render);
}

}  // namespace

Result<std::unique_ptr<Session>> NewSession(const std::shared_ptr<Model>& model) {
  const std::lock_guard lock(model->impl().mutex);
  QUERN_ASSIGN_OR_RETURN(runtime::CachedSequence sequence, runtime::CachedSequence::Create(model->impl().cache.get()));
  return std::unique_ptr<Session>(std::make_unique<EngineSession>(model, std::move(sequence)));
}

Result<std::vector<TokenId>> PromptTokens(const std::shared_ptr<Model>& model, const GenerateRequest& request) {
  const Model::Impl& impl = model->impl();
  const int kinds = (request.messages.empty() ? 0 : 1) + (request.text ? 1 : 0) + (request.ids ? 1 : 0);
  if (kinds != 1)
    return Fail(Code::kInvalidArgument, "a request needs exactly one of messages, text and ids; it has {}", kinds);
  if (request.ids) return *request.ids;
  if (request.text) return engine::EncodeText(*impl.tokenizer, *request.text, request.parse_special, true);
  return engine::EncodeChat(impl.chat_format.get(), impl.chat_refusal, request.messages, request.chat);
}

Result<GenerateResult> Generate(const std::shared_ptr<Model>& model, Session* session, const GenerateRequest& request,
                                const DeltaFn& on_delta) {
  Model::Impl& impl = model->impl();
  QUERN_ASSIGN_OR_RETURN(const std::vector<TokenId> prompt, PromptTokens(model, request));
  QUERN_TRY(CheckRequest(impl, request, prompt));
  QUERN_ASSIGN_OR_RETURN(std::unique_ptr<text::OutputParser> parser, MakeParser(impl, request));
  if (session != nullptr) {
    auto& own = static_cast<EngineSession&>(*session);
    if (own.model() != model) return Fail(Code::kInvalidArgument, "the session belongs to another model");
    const std::lock_guard lock(impl.mutex);
    return Generation(impl, own.sequence(), request, std::move(parser), on_delta).Run(prompt);
  }
  const std::lock_guard lock(impl.mutex);
  QUERN_ASSIGN_OR_RETURN(runtime::CachedSequence cold, runtime::CachedSequence::Create(impl.cache.get()));
  return Generation(impl, cold, request, std::move(parser), on_delta).Run(prompt);
}

Result<EvaluatedLogits> EvaluateLogits(const std::shared_ptr<Model>& model, std::span<const TokenId> ids,
                                       std::span<const int32_t> kept) {
  Model::Impl& impl = model->impl();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0 || static_cast<size_t>(kept[i]) >= ids.size() || (i > 0 && kept[i] <= kept[i - 1])) {
      return Fail(Code::kInvalidArgument, "kept positions must ascend and lie in [0, {})", ids.size());
    }
  }
  EvaluatedLogits result;
  result.vocab_size = impl.program->vocab_size;
  const std::lock_guard lock(impl.mutex);
  QUERN_ASSIGN_OR_RETURN(runtime::KvSequence sequence, impl.cache->NewSequence());
  QUERN_TRY(impl.stepper->Append(&sequence, ids, kept, nullptr, [&](size_t, std::span<const float> rows) -> Status {
    result.logits.insert(result.logits.end(), rows.begin(), rows.end());
    return {};
  }));
  return result;
}

}  // namespace quern
