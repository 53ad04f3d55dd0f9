// Perplexity and KL divergence: chunks of tokens through the stepper, rows of logits into sums.
#include "quern/perplexity.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/kl_base_file.h"
#include "engine/model_impl.h"
#include "engine/prompt.h"

namespace quern {
namespace {

struct Plan {
  int64_t context = 0, stride = 0, score_from = 0, num_chunks = 0;
  int64_t rows_per_chunk() const { return context - score_from; }
  int64_t num_rows() const { return num_chunks * rows_per_chunk(); }
};

Result<Plan> MakePlan(const PerplexityOptions& options, int64_t num_tokens, int64_t model_context) {
  Plan plan;
  plan.context = options.context;
  plan.stride = options.stride == 0 ? options.context : options.stride;
  plan.score_from = options.score_from < 0 ? options.context / 2 : options.score_from;
  if (plan.context < 2 || plan.context > model_context) {
    return WithHint(Fail(Code::kInvalidArgument, "chunks of {} tokens; the model was loaded for {}, and 2 is the least",
                         plan.context, model_context),
                    "lower --ctx");
  }
  if (plan.stride < 1 || plan.stride > plan.context) {
    return Fail(Code::kInvalidArgument, "stride {} is outside 1 to {}", plan.stride, plan.context);
  }
  if (plan.score_from < 1 || plan.score_from >= plan.context) {
    return Fail(Code::kInvalidArgument, "score_from {} is outside 1 to {}", plan.score_from, plan.context - 1);
  }
  if (num_tokens < plan.context) {
    return WithHint(
        Fail(Code::kInvalidArgument, "the text has {} tokens, less than one chunk of {}", num_tokens, plan.context),
        "lower --ctx or give a longer text");
  }
  plan.num_chunks = (num_tokens - plan.context) / plan.stride + 1;
  if (options.max_chunks > 0) plan.num_chunks = std::min(plan.num_chunks, options.max_chunks);
  return plan;
}

// log-softmax in f64 sums: for 262,144 terms an f32 sum loses three digits.
void LogSoftmax(std::span<const float> logits, std::span<float> logprobs) {
  const float highest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - highest));
  const auto log_sum = static_cast<float>(std::log(sum));
  for (size_t i = 0; i < logits.size(); ++i) logprobs[i] = logits[i] - highest - log_sum;
}

// sum p log(p / q) of two rows of log-probabilities, p the base.
double KlDivergence(std::span<const float> base, std::span<const float> logprobs) {
  double sum = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double p = std::exp(static_cast<double>(base[i]));
    if (p > 0) sum += p * (static_cast<double>(base[i]) - static_cast<double>(logprobs[i]));
  }
  return sum;
}

// What one scored row contributes. Rows are filled by the team's members, then summed in order, so that the result does
// not depend on their number.
struct RowScore {
  double nll = 0, kl = 0;
  bool same_top = false;
};

class Measurement {
 public:
  Measurement(Model::Impl& impl, const Plan& plan, const PerplexityOptions& options)
      : impl_(impl),
        plan_(plan),
        options_(options),
        vocab_(static_cast<size_t>(impl.program->vocab_size)),
        scratch_(static_cast<size_t>(impl.device->num_threads())) {}

  Result<PerplexityResult> Run(std::span<const TokenId> ids) {
    const auto start = std::chrono::steady_clock::now();
    QUERN_TRY(OpenBases(ids));
    for (int64_t chunk = 0; chunk < plan_.num_chunks; ++chunk) {
      QUERN_TRY(Report(chunk));
      QUERN_TRY(RunChunk(ids.subspan(static_cast<size_t>(chunk * plan_.stride), static_cast<size_t>(plan_.context))));
    }
    QUERN_TRY(Report(plan_.num_chunks));
    if (writer_) QUERN_TRY(writer_->Finish());
    PerplexityResult result = Summarize();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  Status Report(int64_t chunks_done) const {
    if (options_.progress && !options_.progress({"evaluate", chunks_done, plan_.num_chunks, "chunks"}))
      return Fail(Code::kCancelled, "interrupted");
    return {};
  }

  Status OpenBases(std::span<const TokenId> ids) {
    const int64_t num_read = (plan_.num_chunks - 1) * plan_.stride + plan_.context;
    const engine::KlBaseHeader header{vocab_,           static_cast<uint64_t>(plan_.num_rows()),
                                      plan_.context,    plan_.stride,
                                      plan_.score_from, engine::HashTokens(ids.first(static_cast<size_t>(num_read)))};
    if (!options_.kl_base_in.empty()) {
      QUERN_ASSIGN_OR_RETURN(reader_, engine::KlBaseReader::Open(options_.kl_base_in));
      if (reader_->header() != header) {
        return WithHint(Fail(Code::kInvalidArgument,
                             "{} was made from another text, tokenizer or chunking ({} rows of {} tokens here, "
                             "{} rows of {} there)",
                             options_.kl_base_in, header.num_rows, header.vocab_size, reader_->header().num_rows,
                             reader_->header().vocab_size),
                        "use the same text, --ctx, --stride and --chunks");
      }
    }
    if (!options_.kl_base_out.empty()) {
      QUERN_ASSIGN_OR_RETURN(engine::KlBaseWriter opened, engine::KlBaseWriter::Create(options_.kl_base_out, header));
      writer_.emplace(std::move(opened));
    }
    return {};
  }

  // The chunk's last token is only predicted, never read.
  Status RunChunk(std::span<const TokenId> chunk) {
    chunk_.assign(chunk.begin(), chunk.end());
    const std::optional<TokenId> bos = impl_.tokenizer->special().bos;
    if (options_.add_bos && bos) chunk_.front() = *bos;
    std::vector<int32_t> kept;
    for (int64_t i = plan_.score_from; i < plan_.context; ++i) kept.push_back(static_cast<int32_t>(i - 1));
    QUERN_ASSIGN_OR_RETURN(runtime::KvSequence sequence, impl_.cache->NewSequence());
    return impl_.stepper->Append(
        &sequence, std::span(chunk_).first(chunk_.size() - 1), kept, nullptr,
        [&](size_t first_kept, std::span<const float> rows) { return Score(kept, first_kept, rows); });
  }

  Status Score(std::span<const int32_t> kept, size_t first_kept, std::span<const float> rows) {
    const auto num_rows = static_cast<int64_t>(rows.size() / vocab_);
    const size_t row_bytes = writer_ ? static_cast<size_t>(engine::KlRowBytes(vocab_)) : 0;
    encoded_.resize(static_cast<size_t>(num_rows) * row_bytes);
    const size_t first_score = scores_.size();
    scores_.resize(first_score + static_cast<size_t>(num_rows));
    impl_.device->team().Run([&](int member) {
      std::vector<float>& scratch = scratch_[static_cast<size_t>(member)];
      scratch.resize(2 * vocab_);
      for (int64_t row = member; row < num_rows; row += impl_.device->num_threads()) {
        const auto r = static_cast<size_t>(row);
        const auto target = static_cast<size_t>(chunk_[static_cast<size_t>(kept[first_kept + r]) + 1]);
        scores_[first_score + r] = ScoreRow(rows.subspan(r * vocab_, vocab_), target, first_score + r, scratch);
        if (writer_)
          engine::EncodeKlRow(std::span(scratch).first(vocab_), std::span(encoded_).subspan(r * row_bytes, row_bytes));
      }
    });
    return writer_ ? writer_->Append(encoded_) : Status();
  }

  // scratch [2 V]: leaves the log-probabilities in its first half.
  RowScore ScoreRow(std::span<const float> logits, size_t target, size_t index, std::span<float> scratch) const {
    const std::span<float> logprobs = scratch.first(vocab_), base = scratch.subspan(vocab_);
    LogSoftmax(logits, logprobs);
    RowScore score;
    score.nll = -static_cast<double>(logprobs[target]);
    if (reader_) {
      engine::DecodeKlRow(reader_->Row(static_cast<int64_t>(index)), base);
      score.kl = KlDivergence(base, logprobs);
      const auto top = std::ranges::max_element(logprobs) - logprobs.begin();
      score.same_top = top == std::ranges::max_element(base) - base.begin();
    }
    return score;
  }

  PerplexityResult Summarize() const {
    PerplexityResult result;
    result.chunks = plan_.num_chunks;
    result.scored_tokens = static_cast<int64_t>(scores_.size());
    const auto count = static_cast<double>(scores_.size());
    double sum = 0, kl = 0, same = 0, squares = 0;
    for (const RowScore& score : scores_) {
      sum += score.nll;
      kl += score.kl;
      same += score.same_top ? 1 : 0;
    }
    const double mean = sum / count;
    for (const RowScore& score : scores_) squares += (score.nll - mean) * (score.nll - mean);
    result.perplexity = std::exp(mean);
    // d exp(m) = exp(m) dm; the standard error of the mean treats tokens as independent.
    if (count > 1) result.standard_error = result.perplexity * std::sqrt(squares / (count - 1) / count);
    if (reader_) {
      result.mean_kl = kl / count;
      result.top1_agreement = same / count;
    }
    return result;
  }

  Model::Impl& impl_;
  const Plan plan_;
  const PerplexityOptions& options_;
  const size_t vocab_;
  std::optional<engine::KlBaseReader> reader_;
  std::optional<engine::KlBaseWriter> writer_;
  std::vector<TokenId> chunk_;
  std::vector<RowScore> scores_;             // by scored row
  std::vector<std::vector<float>> scratch_;  // by member
  std::vector<std::byte> encoded_;           // rows of the base file
};

}  // namespace

Result<PerplexityResult> MeasurePerplexityOfTokens(const std::shared_ptr<Model>& model, std::span<const TokenId> ids,
                                                   const PerplexityOptions& options) {
  Model::Impl& impl = model->impl();
  const std::lock_guard lock(impl.mutex);
  QUERN_ASSIGN_OR_RETURN(const Plan plan, MakePlan(options, static_cast<int64_t>(ids.size()), impl.cache->context()));
  for (const TokenId id : ids) {
    if (id < 0 || id >= impl.program->vocab_size) {
      return Fail(Code::kInvalidArgument, "token id {} is outside the vocabulary of {}", id, impl.program->vocab_size);
    }
  }
  return Measurement(impl, plan, options).Run(ids);
}

Result<PerplexityResult> MeasurePerplexity(const std::shared_ptr<Model>& model, std::string_view text,
                                           const PerplexityOptions& options) {
  const std::vector<TokenId> ids =
      engine::EncodeText(*model->impl().tokenizer, text, options.parse_special, options.add_bos);
  return MeasurePerplexityOfTokens(model, ids, options);
}

}  // namespace quern
