// quern perplexity: how well a model predicts a text.
#include "quern/perplexity.h"

#include "cli/commands/entries.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/model_flags.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

constexpr int64_t kDefaultChunk = 512;

class Perplexity final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags& settings) override {
    Require(AddArgument(app, "MODEL", &model_, "model"));
    Require(AddText(app, "-f,--file", &file_, "text to score; - is standard input", "FILE"));
    model_flags_.Add(app, settings);
    AddInt(app, "--stride", &stride_, 0, 1 << 20, "tokens from one chunk to the next; 0: a chunk, no overlap");
    AddInt(app, "--chunks", &chunks_, 0, INT32_MAX, "chunks to score; 0: all");
    AddText(app, "--kl-base", &kl_base_, "compare with the log-probabilities of another run", "FILE");
    AddText(app, "--kl-base-out", &kl_base_out_, "write the log-probabilities for a later --kl-base", "FILE");
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_TRY(model_flags_.Check());
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(in, model_));
    QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(file_));
    // --ctx is the chunk; the model is loaded for exactly that.
    const int64_t context = in.config.GetInt("generation.context");
    LoadOptions load = LoadOptionsFrom(in.config);
    load.context = context > 0 ? context : kDefaultChunk;
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, LoadModel(in, file, load));
    PerplexityOptions options{.context = load.context, .stride = stride_, .max_chunks = chunks_};
    options.kl_base_in = kl_base_;
    options.kl_base_out = kl_base_out_;
    StopScope stop;
    Result<PerplexityResult> result;
    {
      ProgressDisplay display("perplexity", in.progress_options());
      options.progress = ShowProgress(display);
      result = MeasurePerplexity(model, text, options);
    }
    if (!result) return tl::unexpected(std::move(result).error());
    Print(in, *result, options);
    return ExitCode::kOk;
  }

 private:
  void Print(Invocation& in, const PerplexityResult& result, const PerplexityOptions& options) const {
    const int64_t stride = options.stride > 0 ? options.stride : options.context;
    if (in.json) {
      Json document = {{"schema", "quern.perplexity/1"},
                       {"model", model_},
                       {"perplexity", result.perplexity},
                       {"standard_error", result.standard_error},
                       {"scored_tokens", result.scored_tokens},
                       {"chunks", result.chunks},
                       {"context", options.context},
                       {"stride", stride},
                       {"score_from", options.context / 2},
                       {"seconds", result.seconds}};
      if (!kl_base_.empty()) {
        document["mean_kl"] = result.mean_kl;
        document["top1_agreement"] = result.top1_agreement;
      }
      in.out.Write(DumpPretty(document) + "\n");
      return;
    }
    in.diagnostics.Notice(
        fmt::format("chunks of {} tokens every {}, <bos> in place of the first; scored from token {} of each chunk, "
                    "given the earlier ones; "
                    "perplexity = exp(mean negative log-likelihood)",
                    options.context, stride, options.context / 2));
    in.out.Print("perplexity {:.4f} +/- {:.4f} ({} tokens in {} chunks, {:.1f} s)\n", result.perplexity,
                 result.standard_error, result.scored_tokens, result.chunks, result.seconds);
    if (!kl_base_.empty()) {
      in.out.Print("mean KL {:.6f} nats, same first token {:.2f} %\n", result.mean_kl, result.top1_agreement * 100);
    }
  }

  std::string model_, file_, kl_base_, kl_base_out_;
  int64_t stride_ = 0, chunks_ = 0;
  ModelFlags model_flags_;
};

}  // namespace

CommandEntry PerplexityCommand() {
  return {.name = "perplexity",
          .summary = "Measure how well a model predicts a text",
          .examples =
              "  quern perplexity gemma4:e2b -f wiki.test.raw --ctx 512\n"
              "  quern perplexity small.gguf -f wiki.test.raw --kl-base full.kld",
          .make = [] { return std::unique_ptr<Command>(new Perplexity); }};
}

}  // namespace quern::cli
