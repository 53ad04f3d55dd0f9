// quern convert, quern quantize: writing a model in another format or type.
#include "quern/convert.h"

#include "cli/commands/entries.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"
#include "cli/model_flags.h"
#include "cli/terminal/table.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

// "A=B" into a pair.
Result<std::vector<std::pair<std::string, std::string>>> SplitPairs(const std::vector<std::string>& texts,
                                                                    std::string_view flag) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    QUERN_TRY(CheckUtf8(text, flag));
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Fail(Code::kInvalidArgument, "{}: \"{}\" is not NAME=VALUE", flag, text);
    }
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

void PrintResult(Invocation& in, const ConvertResult& result, const std::string& destination, bool dry_run) {
  if (in.json) {
    Json plan = Json::array();
    for (const TensorPlan& tensor : result.plan) {
      plan.push_back({{"name", tensor.name},
                      {"shape", tensor.shape},
                      {"from", tensor.from},
                      {"to", tensor.to},
                      {"reason", tensor.reason},
                      {"bytes_after", tensor.bytes_after}});
    }
    in.out.Write(DumpPretty({{"destination", destination},
                             {"written", !dry_run},
                             {"bytes_before", result.bytes_before},
                             {"bytes_after", result.bytes_after},
                             {"plan", std::move(plan)}}) +
                 "\n");
    return;
  }
  Table table({"TENSOR", "SHAPE", "FROM", "TO", "SIZE", "REASON"});
  for (const TensorPlan& tensor : result.plan) {
    table.Add({tensor.name, fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tensor.from, tensor.to,
               FormatBytes(tensor.bytes_after), tensor.reason});
  }
  in.out.Write(table.Text());
  in.out.Print("{} -> {}{}\n", FormatBytes(result.bytes_before), FormatBytes(result.bytes_after),
               dry_run ? " (nothing written)" : "");
}

// What both commands share: source, destination, progress, cancel.
class Rewrite : public Command {
 public:
  Result<ExitCode> Run(Invocation& in) final {
    QUERN_ASSIGN_OR_RETURN(ConvertOptions options, Options());
    options.threads = static_cast<int>(in.config.GetInt("generation.threads"));
    QUERN_ASSIGN_OR_RETURN(const ModelFile file, Resolve(in, source_));
    StopScope stop;
    Result<ConvertResult> result;
    {
      ProgressDisplay display(std::string(name_), in.progress_options());
      options.progress = ShowProgress(display);
      result = convert_(file, destination_, options);
    }
    if (!result) return tl::unexpected(std::move(result).error());
    PrintResult(in, *result, destination_, options.dry_run);
    return ExitCode::kOk;
  }

 protected:
  using ConvertFn = Result<ConvertResult> (*)(const ModelFile&, const std::string&, const ConvertOptions&);
  Rewrite(std::string_view name, ConvertFn convert) : name_(name), convert_(convert) {}
  virtual Result<ConvertOptions> Options() const = 0;

  void AddCommon(CLI::App& app, SettingFlags& settings) {
    Require(AddArgument(app, "SRC", &source_, "model to read"));
    Require(AddArgument(app, "DST", &destination_, "file or folder to write; must not exist"));
    AddSetting(app, "generation.threads", &settings);
    AddSwitch(app, "--dry-run", &dry_run_, "print the plan and the size, write nothing");
  }

  bool dry_run_ = false;

 private:
  std::string_view name_;
  ConvertFn convert_;
  std::string source_, destination_;
};

class Convert final : public Rewrite {
 public:
  Convert() : Rewrite("convert", ConvertModel) {}
  void Configure(CLI::App& app, SettingFlags& settings) override {
    AddCommon(app, settings);
    AddChoice(app, "--to", &to_, {{"gguf", "safetensors"}}, "format to write");
    AddChoice(app, "--dtype", &dtype_, {{"F32", "F16", "BF16"}}, "type of the matrices; default: keep");
    AddList(app, "--metadata", &metadata_, "add or replace a metadata value of GGUF output", "K=V");
  }

 private:
  Result<ConvertOptions> Options() const override {
    ConvertOptions options{.to = to_, .dtype = dtype_, .dry_run = dry_run_};
    QUERN_ASSIGN_OR_RETURN(options.metadata, SplitPairs(metadata_, "--metadata"));
    return options;
  }
  std::string to_ = "gguf", dtype_;
  std::vector<std::string> metadata_;
};

class Quantize final : public Rewrite {
 public:
  Quantize() : Rewrite("quantize", QuantizeModel) {}
  void Configure(CLI::App& app, SettingFlags& settings) override {
    AddCommon(app, settings);
    Require(AddText(app, "--type", &type_, "type of the matrices: Q4_0, Q8_0, ...", "TYPE"));
    AddList(app, "--tensor-type", &tensor_types_, "type of the tensors whose name matches; later ones win",
            "GLOB=TYPE");
    AddText(app, "--imatrix", &imatrix_, "importance matrix", "FILE");
  }

 private:
  Result<ConvertOptions> Options() const override {
    ConvertOptions options{.dtype = type_, .imatrix = imatrix_, .dry_run = dry_run_};
    QUERN_ASSIGN_OR_RETURN(options.tensor_types, SplitPairs(tensor_types_, "--tensor-type"));
    return options;
  }
  std::string type_, imatrix_;
  std::vector<std::string> tensor_types_;
};

}  // namespace

CommandEntry ConvertCommand() {
  return {.name = "convert",
          .summary = "Write a model in another format",
          .examples =
              "  quern convert ./gemma-4-E2B-it model.gguf --dtype BF16\n  quern convert model.gguf ./folder --to "
              "safetensors",
          .make = [] { return std::unique_ptr<Command>(new Convert); }};
}

CommandEntry QuantizeCommand() {
  return {.name = "quantize",
          .summary = "Write a model with quantised matrices",
          .examples =
              "  quern quantize ./gemma-4-E2B-it model-q4_0.gguf --type Q4_0\n"
              "  quern quantize model.gguf small.gguf --type Q4_0 --tensor-type 'blk.*.ffn_down.*=Q8_0' --dry-run",
          .make = [] { return std::unique_ptr<Command>(new Quantize); }};
}

}  // namespace quern::cli
