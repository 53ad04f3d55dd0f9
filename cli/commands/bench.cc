// quern bench: prompt and decode speed.
#include "quern/bench.h"

#include <fstream>

#include "quern/inspect.h"
#include "quern/version.h"

#include "cli/commands/bench_gate.h"
#include "cli/commands/entries.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/sampling_fields.h"
#include "cli/terminal/table.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

// Where the kernel tells them; null elsewhere (virtual machines mostly do not).
Json Celsius() {
  std::ifstream file("/sys/class/thermal/thermal_zone0/temp");
  double millidegrees = 0;
  return file >> millidegrees ? Json(millidegrees / 1000) : Json();
}

Json ClockMhz() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
  double khz = 0;
  return file >> khz ? Json(khz / 1000) : Json();
}

class Bench final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags& settings) override {
    Require(AddArgument(app, "MODEL", &model_, "model"));
    AddIntList(app, "-p", &options_.prompt_tokens, 0, 1 << 24, "prompt tokens; 0: none");
    AddIntList(app, "-n", &options_.generate_tokens, 0, 1 << 24, "tokens to generate; 0: none");
    AddIntList(app, "--depth", &options_.depths, 0, 1 << 24, "tokens in the cache before the measured part");
    AddIntList(app, "-b", &batches_, 1, 1, "sequences at once; this build measures one");
    AddInt(app, "--reps", &reps_, 1, 1000, "measured repetitions");
    AddInt(app, "--warmup", &warmup_, 0, 1000, "repetitions before that, not counted");
    AddSwitch(app, "--greedy", &greedy_, "greedy decoding; bench always decodes greedily");
    AddText(app, "--compare", &compare_, "print the ratio to an earlier --json result", "FILE");
    AddList(app, "--require", &require_texts_, "exit 8 unless it holds: tg.median>=100", "EXPR");
    AddInt(app, "--seed", &seed_, 0, INT64_MAX, "of the random prompt tokens");
    model_flags_.Add(app, settings);
    missing_.Add(app, {"--evidence", "", "evidence records"});
    missing_.Add(app, {"--without", "", "switching fusions off"});
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_TRY(model_flags_.Check());
    QUERN_TRY(missing_.Check());
    std::vector<Requirement> requirements;
    for (const std::string& text : require_texts_) {
      QUERN_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(text));
      requirements.push_back(std::move(requirement));
    }
    Json before;
    if (!compare_.empty()) {
      QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(compare_));
      QUERN_ASSIGN_OR_RETURN(before, ParseJson(text, compare_));
    }
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(in, model_));
    QUERN_ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, LoadModel(in, file, LoadOptionsFrom(in.config)));
    const Json celsius = Celsius();
    QUERN_ASSIGN_OR_RETURN(const BenchReport report, Measure(in, model));
    QUERN_ASSIGN_OR_RETURN(Json document, Document(file, *model, report));
    document["celsius"] = {{"start", celsius}, {"end", Celsius()}};
    std::vector<RowRatio> ratios;
    if (!compare_.empty()) {
      QUERN_ASSIGN_OR_RETURN(ratios, CompareBench(before, document));
    }
    // The gate speaks last, but with --json stdout holds one document: the error.
    Status gate;
    for (const Requirement& requirement : requirements) {
      if (gate) gate = CheckRequirement(requirement, report);
    }
    if (in.json && !gate) return tl::unexpected(gate.error());
    Print(in, report, ratios, document);
    if (!gate) return tl::unexpected(gate.error());
    return ExitCode::kOk;
  }

 private:
  Result<BenchReport> Measure(Invocation& in, const std::shared_ptr<Model>& model) {
    options_.reps = static_cast<int>(reps_);
    options_.warmup = static_cast<int>(warmup_);
    options_.seed = static_cast<uint64_t>(seed_);
    StopScope stop;
    ProgressDisplay display("bench", in.progress_options());
    options_.progress = ShowProgress(display);
    return RunBench(model, options_);
  }

  Result<Json> Document(const ModelFile& file, const Model& model, const BenchReport& report) const {
    const BuildInfo build = GetBuildInfo();
    QUERN_ASSIGN_OR_RETURN(const auto hashes, HashModel(file));
    Json sha256 = Json::object();
    for (const auto& [name, hash] : hashes) sha256[name] = hash;
    Json rows = Json::array();
    for (const BenchRow& row : report.rows) {
      rows.push_back({{"kind", row.kind},
                      {"tokens", row.tokens},
                      {"depth", row.depth},
                      {"tokens_per_second", row.tokens_per_second},
                      {"median", row.median},
                      {"min", row.min},
                      {"max", row.max},
                      {"stddev", row.stddev},
                      {"output_hash", row.output_hash}});
    }
    const ModelInfo& info = model.info();
    return Json{{"schema", "quern.bench/1"},
                {"model", {{"reference", model_}, {"path", info.path}, {"quantization", info.quantization}}},
                {"model_sha256", std::move(sha256)},
                {"device", info.device},
                {"build", {{"version", build.version}, {"commit", build.commit}, {"compiler", build.compiler}}},
                {"options",
                 {{"prompt_tokens", options_.prompt_tokens},
                  {"generate_tokens", options_.generate_tokens},
                  {"depths", options_.depths},
                  {"reps", reps_},
                  {"warmup", warmup_},
                  {"seed", seed_},
                  {"context", info.context}}},
                {"clock_mhz", ClockMhz()},
                {"peak_memory_bytes", report.peak_memory_bytes},
                {"prompt_hash", report.prompt_hash},
                {"rows", std::move(rows)}};
  }

  void Print(Invocation& in, const BenchReport& report, const std::vector<RowRatio>& ratios, Json& document) const {
    Table table({"TEST", "DEPTH", "MEDIAN tok/s", "MIN", "MAX", "STDDEV", "OUTPUT"});
    const auto number = [](double value) { return fmt::format("{:.2f}", value); };
    for (const BenchRow& row : report.rows) {
      table.Add({fmt::format("{}{}", row.kind, row.tokens), fmt::to_string(row.depth), number(row.median),
                 number(row.min), number(row.max), number(row.stddev), row.output_hash.substr(0, 12)});
    }
    Table compared({"TEST", "DEPTH", "RATIO", "INTERVAL"});
    for (const RowRatio& ratio : ratios) {
      document["compare"].push_back({{"kind", ratio.kind},
                                     {"tokens", ratio.tokens},
                                     {"depth", ratio.depth},
                                     {"ratio", ratio.ratio},
                                     {"low", ratio.low},
                                     {"high", ratio.high}});
      compared.Add({fmt::format("{}{}", ratio.kind, ratio.tokens), fmt::to_string(ratio.depth),
                    fmt::format("{:.3f}", ratio.ratio), fmt::format("{:.3f} to {:.3f}", ratio.low, ratio.high)});
    }
    if (in.json) {
      in.out.Write(DumpPretty(document) + "\n");
      return;
    }
    in.out.Write(table.Text());
    if (!ratios.empty()) in.out.Write("\n" + compared.Text());
    in.diagnostics.Notice(fmt::format("{} repetitions after {} of warm-up; peak memory {}", reps_, warmup_,
                                      FormatBytes(report.peak_memory_bytes)));
  }

  std::string model_, compare_;
  std::vector<std::string> require_texts_;
  std::vector<int64_t> batches_ = {1};
  int64_t reps_ = 5, warmup_ = 1, seed_ = 1;
  bool greedy_ = true;
  BenchOptions options_;
  ModelFlags model_flags_;
  MissingFlags missing_;
};

}  // namespace

CommandEntry BenchCommand() {
  return {.name = "bench",
          .summary = "Measure prompt and decode speed",
          .examples =
              "  quern bench gemma4:e2b -p 2051 -n 300 --json\n  quern bench gemma4:e2b --require 'tg.median>=10' "
              "--compare before.json",
          .make = [] { return std::unique_ptr<Command>(new Bench); }};
}

}  // namespace quern::cli
