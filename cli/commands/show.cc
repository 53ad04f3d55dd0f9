// quern show: what a model file holds, from its headers alone.
#include <fnmatch.h>

#include "quern/inspect.h"

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/model_flags.h"
#include "cli/terminal/table.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

class Show final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags& settings) override {
    Require(AddArgument(app, "REF", &reference_, "model"));
    metadata_option_ =
        MakeValueOptional(AddText(app, "--metadata", &metadata_key_, "all metadata, or one KEY in full", "[KEY]"));
    tensors_option_ = MakeValueOptional(
        AddText(app, "--tensors", &tensor_glob_, "the tensors, or those whose name matches GLOB", "[GLOB]"));
    AddSwitch(app, "--template", &template_, "the chat template");
    AddSwitch(app, "--license", &license_, "the license");
    AddSwitch(app, "--memory", &memory_, "memory needed at --ctx for --parallel sequences");
    AddSetting(app, "generation.context", &settings);
    AddInt(app, "--parallel", &parallel_, 1, 4096, "sequences for --memory");
    AddSwitch(app, "--sha256", &sha256_, "SHA-256 of every file; reads them wholly");
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_ASSIGN_OR_RETURN(file_, Resolve(in, reference_));
    QUERN_ASSIGN_OR_RETURN(const InspectedModel model, InspectModel(file_));
    Json document;
    QUERN_ASSIGN_OR_RETURN(std::string text, Describe(in, model, document));
    in.out.Write(in.json ? DumpPretty(document) + "\n" : text);
    return ExitCode::kOk;
  }

 private:
  // Fills both forms; `text` has the parts that were asked for, or the summary.
  Result<std::string> Describe(const Invocation& in, const InspectedModel& model, Json& document) {
    std::string text = Summary(model, document);
    std::string parts;
    if (IsGiven(metadata_option_)) {
      QUERN_ASSIGN_OR_RETURN(const std::string part, Metadata(model, document));
      parts += part;
    }
    if (IsGiven(tensors_option_)) parts += Tensors(model, document);
    if (template_) {
      document["chat_template"] = model.chat_template;
      parts += Shown(in, model.chat_template) + "\n";
    }
    if (license_) {
      document["license"] = model.license;
      parts += Shown(in, model.license.empty() ? "(the file names no license)" : model.license) + "\n";
    }
    if (memory_) {
      QUERN_ASSIGN_OR_RETURN(const std::string part, Memory(in, document));
      parts += part;
    }
    if (sha256_) {
      QUERN_ASSIGN_OR_RETURN(const auto hashes, HashModel(file_));
      document["sha256"] = Json::object();
      for (const auto& [name, hash] : hashes) {
        document["sha256"][name] = hash;
        parts += fmt::format("{}  {}\n", hash, Visible(name));
      }
    }
    return parts.empty() ? text : parts;
  }

  static std::string Shown(const Invocation& in, const std::string& text) {
    return in.terminal.stdout_is_terminal ? Visible(text) : text;
  }

  std::string Summary(const InspectedModel& model, Json& document) const {
    document = {{"reference", reference_},
                {"path", file_.path},
                {"format", model.format},
                {"architecture", model.architecture},
                {"name", model.name},
                {"quantization", model.quantization},
                {"support", model.support},
                {"num_parameters", model.num_parameters},
                {"file_bytes", model.file_bytes},
                {"facts", Json::object()}};
    Table table({"name", Visible(model.name)});
    table.Add({"path", file_.path});
    table.Add({"format", model.format});
    table.Add({"architecture", model.architecture});
    table.Add({"parameters", fmt::format("{:.2f} B", static_cast<double>(model.num_parameters) / 1e9)});
    table.Add({"quantization", model.quantization});
    table.Add({"size", FormatBytes(model.file_bytes)});
    for (const auto& [key, value] : model.facts) {
      document["facts"][key] = value;
      table.Add({key, value});
    }
    table.Add({"runs here", model.support.empty() ? "yes" : "no: " + model.support});
    return table.Text();
  }

  Result<std::string> Metadata(const InspectedModel& model, Json& document) const {
    std::string text;
    document["metadata"] = Json::object();
    const auto add = [&](const std::string& key, const std::string& value) {
      // Long arrays are abbreviated in the list and then no JSON: the text itself is the value.
      Result<Json> parsed = ParseJson(value, key);
      document["metadata"][key] = parsed ? std::move(*parsed) : Json(value);
      text += fmt::format("{} = {}\n", Visible(key), Visible(value));
    };
    if (metadata_key_.empty()) {
      for (const auto& [key, value] : model.metadata) add(key, value);
      return text;
    }
    QUERN_ASSIGN_OR_RETURN(const std::string value, InspectMetadata(file_, metadata_key_));
    add(metadata_key_, value);
    return text;
  }

  std::string Tensors(const InspectedModel& model, Json& document) const {
    document["tensors"] = Json::array();
    Table table({"TENSOR", "TYPE", "SHAPE", "SIZE"});
    for (const InspectedTensor& tensor : model.tensors) {
      if (!tensor_glob_.empty() && fnmatch(tensor_glob_.c_str(), tensor.name.c_str(), 0) != 0) continue;
      document["tensors"].push_back(
          {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"num_bytes", tensor.num_bytes}});
      table.Add({tensor.name, tensor.dtype, ShapeText(tensor.shape), FormatBytes(tensor.num_bytes)});
    }
    return table.Text();
  }

  Result<std::string> Memory(const Invocation& in, Json& document) const {
    const int64_t context = in.config.GetInt("generation.context");
    QUERN_ASSIGN_OR_RETURN(const MemoryNeed need, EstimateMemory(file_, context, static_cast<int>(parallel_)));
    const int64_t total = need.packed_bytes + need.cache_bytes + need.scratch_bytes;
    document["memory"] = {{"weight_bytes", need.weight_bytes},
                          {"packed_bytes", need.packed_bytes},
                          {"cache_bytes", need.cache_bytes},
                          {"scratch_bytes", need.scratch_bytes},
                          {"sequences", parallel_},
                          {"total_bytes", total}};
    Table table({"weights in the file", FormatBytes(need.weight_bytes)});
    table.Add({"weights in memory", FormatBytes(need.packed_bytes)});
    table.Add({fmt::format("cache of {} sequence(s)", parallel_), FormatBytes(need.cache_bytes)});
    table.Add({"scratch", FormatBytes(need.scratch_bytes)});
    table.Add({"total in memory", FormatBytes(total)});
    return table.Text();
  }

  std::string reference_, metadata_key_, tensor_glob_;
  CLI::Option* metadata_option_ = nullptr;
  CLI::Option* tensors_option_ = nullptr;
  bool template_ = false, license_ = false, memory_ = false, sha256_ = false;
  int64_t parallel_ = 1;
  ModelFile file_;
};

}  // namespace

CommandEntry ShowCommand() {
  return {.name = "show",
          .summary = "Show what a model file holds, without loading it",
          .examples = "  quern show gemma4:e2b --memory --ctx 32768\n  quern show ./model.gguf --tensors 'blk.0.*'",
          .make = [] { return std::unique_ptr<Command>(new Show); }};
}

}  // namespace quern::cli
