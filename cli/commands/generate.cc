// quern generate: one prompt, one answer (or a file of prompts).
#include <fstream>

#include "cli/commands/entries.h"
#include "cli/commands/generate_request.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/messages_json.h"
#include "cli/model_flags.h"
#include "cli/terminal/text_stream.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

class GenerateText final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags& settings) override {
    AddArgument(app, "MODEL", &model_, kModelOrDefaultHelp);
    request_flags_.Add(app, settings);
    AddInt(app, "--n", &num_answers_, 1, 64, "answers; with --seed S they use S, S+1, ...");
    AddSwitch(app, "--echo", &echo_, "print the prompt in front of the answer");
    AddSwitch(app, "--stats", &stats_, "statistics on stderr");
    AddText(app, "--batch", &batch_, "one request per line: {\"prompt\" or \"messages\", \"id\"?}; one answer per line",
            "FILE");
    model_flags_.Add(app, settings);
    missing_.Add(app, {"--json-schema", "", "constrained output"});
    missing_.Add(app, {"--grammar", "", "constrained output"});
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_TRY(model_flags_.Check());
    QUERN_TRY(missing_.Check());
    if (!batch_.empty()) return RunBatch(in);
    QUERN_ASSIGN_OR_RETURN(const GenerateRequest request, request_flags_.Build(in));
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, FindModel(in));
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, LoadModel(in, file, LoadOptionsFrom(in.config)));
    std::vector<GenerateResult> results;
    for (int64_t i = 0; i < num_answers_; ++i) {
      GenerateRequest numbered = request;
      if (request.sampling.seed) numbered.sampling.seed = *request.sampling.seed + static_cast<uint64_t>(i);
      if (i > 0 && !in.json) in.out.Write("\n");
      QUERN_ASSIGN_OR_RETURN(GenerateResult result, RunOne(in, model, numbered));
      const bool interrupted = result.finish == FinishReason::kInterrupted;
      results.push_back(std::move(result));
      if (interrupted) break;
    }
    if (in.json) in.out.Write(Dump(Document(results)) + "\n");
    return results.back().finish == FinishReason::kInterrupted ? ExitCode::kInterrupted : ExitCode::kOk;
  }

 private:
  Result<ModelFile> FindModel(Invocation& in) const {
    return ResolveOrDefault(in, model_, [&in](const std::string& notice) { in.diagnostics.Notice(notice); });
  }

  Result<GenerateResult> RunOne(Invocation& in, const std::shared_ptr<Model>& model, GenerateRequest request) {
    StopScope stop;
    request.cancel = &StopRequested();
    TextStream stream(in.out, {.is_terminal = in.terminal.stdout_is_terminal});
    // With tools the answer is one message, known only at the end.
    const bool streams = !in.json && !request_flags_.has_tools();
    if (echo_ && streams) stream.Write(request.text ? *request.text : request.messages.back().content);
    const auto show = [&](const Delta& delta) {
      if (streams && delta.kind == Delta::Kind::kText) stream.Write(delta.text);
      return true;
    };
    QUERN_ASSIGN_OR_RETURN(GenerateResult result, Generate(model, nullptr, request, show));
    if (streams) stream.Finish();
    if (request_flags_.has_tools() && !in.json) in.out.Write(Dump(ToJson(result.message)) + "\n");
    if (stats_) PrintStats(in, result);
    if (result.message.content.empty() && result.stats.thinking_tokens > 0 && result.message.tool_calls.empty()) {
      in.diagnostics.Notice(fmt::format("no visible answer; {} thinking tokens; raise --max-tokens or use --think off",
                                        result.stats.thinking_tokens));
    }
    return result;
  }

  static void PrintStats(Invocation& in, const GenerateResult& result) {
    in.diagnostics.Notice(
        fmt::format("{} tokens, {:.1f} tok/s, first after {:.2f} s, prompt {} at {:.0f} tok/s, seed {}, {}",
                    result.stats.generated_tokens, DecodeRate(result.stats), result.stats.first_token_seconds,
                    result.stats.prompt_tokens, PromptRate(result.stats), result.seed, NameOf(result.finish)));
  }

  static Json LogprobsJson(const GenerateResult& result) {
    Json list = Json::array();
    for (const TokenLogprob& token : result.logprobs) {
      Json top = Json::array();
      for (const auto& [id, logprob] : token.top) top.push_back({{"id", id}, {"logprob", logprob}});
      list.push_back({{"id", token.id}, {"text", token.text}, {"logprob", token.logprob}, {"top", std::move(top)}});
    }
    return list;
  }

  Json ChoiceJson(const GenerateResult& result, size_t index) const {
    Json choice = {{"index", index},      {"message", ToJson(result.message)}, {"finish_reason", NameOf(result.finish)},
                   {"seed", result.seed}, {"usage", UsageJson(result.stats)},  {"timings", TimingsJson(result.stats)}};
    if (!result.logprobs.empty()) choice["logprobs"] = LogprobsJson(result);
    return choice;
  }

  Json Document(const std::vector<GenerateResult>& results) const {
    Json choices = Json::array();
    for (const GenerateResult& result : results) choices.push_back(ChoiceJson(result, choices.size()));
    return {{"schema", "quern.generate/1"}, {"model", model_}, {"choices", std::move(choices)}};
  }

  // Answers in order, one object per line; a line that cannot be read stops the run before the model is loaded.
  Result<ExitCode> RunBatch(Invocation& in) {
    QUERN_ASSIGN_OR_RETURN(const std::vector<BatchLine> lines, ReadBatch(batch_));
    QUERN_ASSIGN_OR_RETURN(GenerateRequest base, request_flags_.BuildWithoutPrompt(in));
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, FindModel(in));
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, LoadModel(in, file, LoadOptionsFrom(in.config)));
    for (const BatchLine& line : lines) {
      GenerateRequest request = request_flags_.WithMessages(base, line.messages);
      StopScope stop;
      request.cancel = &StopRequested();
      QUERN_ASSIGN_OR_RETURN(const GenerateResult result,
                             Generate(model, nullptr, request, [](const Delta&) { return true; }));
      Json answer = {{"type", "answer"}, {"line", line.number}};
      if (!line.id.is_null()) answer["id"] = line.id;
      answer.update(ChoiceJson(result, 0));
      in.out.Write(Dump(answer) + "\n");
      in.out.Flush();
      if (result.finish == FinishReason::kInterrupted) return ExitCode::kInterrupted;
    }
    return ExitCode::kOk;
  }

  std::string model_, batch_;
  int64_t num_answers_ = 1;
  bool echo_ = false, stats_ = false;
  RequestFlags request_flags_;
  ModelFlags model_flags_;
  MissingFlags missing_;
};

}  // namespace

CommandEntry GenerateCommand() {
  return {.name = "generate",
          .alias = "run",
          .summary = "Answer one prompt",
          .examples =
              "  quern generate gemma4:e2b -p \"Why is the sky blue?\"\n"
              "  echo \"Summarise: ...\" | quern generate gemma4:e4b -f - --max-tokens 200",
          .make = [] { return std::unique_ptr<Command>(new GenerateText); }};
}

}  // namespace quern::cli
