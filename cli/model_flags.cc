#include "cli/model_flags.h"

#include "cli/interrupt.h"

namespace quern::cli {

void ModelFlags::Add(CLI::App& app, SettingFlags& settings) {
  for (const char* key : {"generation.threads", "generation.context", "generation.kv_type", "generation.numerics",
                          "generation.memory_budget", "generation.prefill_chunk"}) {
    Group(AddSetting(app, key, &settings), "Model");
  }
  constexpr const char* kSpeculation = "speculative decoding";
  missing_.Add(app, {"--draft", "none", kSpeculation});
  missing_.Add(app, {"--draft-tokens", "", kSpeculation});
  missing_.Add(app, {"--draft-policy", "off", kSpeculation});
  missing_.Add(app, {"--adapter", "", "unmerged LoRA adapters"});
  missing_.Add(app, {"--residency", "auto", "placing the per-layer embedding table"});
  missing_.Add(app, {"--prepared-packs", "off", "packed weights on disk"});
  missing_.Add(app, {"--jit", "off", "compiling kernels at run time"});
  missing_.Add(app, {"--require-route", "", "requiring a kernel route"});
}

LoadOptions LoadOptionsFrom(const Config& config) {
  LoadOptions options;
  options.threads = static_cast<int>(config.GetInt("generation.threads"));
  options.context = config.GetInt("generation.context");
  options.prefill_chunk = static_cast<int>(config.GetInt("generation.prefill_chunk"));
  const std::string_view kv_type = config.Get("generation.kv_type");
  options.kv_type = kv_type == "bf16" ? KvType::kBF16 : kv_type == "f32" ? KvType::kF32 : KvType::kF16;
  options.numerics = config.Get("generation.numerics") == "exact" ? NumericsMode::kExact : NumericsMode::kDefault;
  options.memory_budget_bytes = config.GetSizeBytes("generation.memory_budget");
  options.device = config.Get("generation.device");
  return options;
}

Result<ModelFile> Resolve(Invocation& in, const std::string& reference) {
  QUERN_ASSIGN_OR_RETURN(ModelFile file, ResolveModel(reference, in.resolve_options()));
  if (!file.notice.empty()) in.diagnostics.Notice(file.notice);
  in.diagnostics.Detail("model file: " + file.path);
  return file;
}

Result<ModelFile> ResolveOrDefault(Invocation& in, const std::string& reference, const NoticeFn& notice) {
  const std::string named = reference.empty() ? std::string(in.config.Get("general.default_model")) : reference;
  if (!named.empty()) return Resolve(in, named);
  QUERN_ASSIGN_OR_RETURN(const ModelFile demo, FindDemoModel());
  notice(
      fmt::format("{} is a tiny demo model that ships with quern and only shows that everything works; "
                  "for a real one, name it: ./model.gguf, or gemma4:e2b from the cache",
                  demo.reference));
  return demo;
}

ProgressFn ShowProgress(ProgressDisplay& display) {
  return [&display](const Progress& progress) {
    display.Update(progress);
    return !StopRequested();
  };
}

Result<std::shared_ptr<Model>> LoadModel(Invocation& in, const ModelFile& file, LoadOptions options) {
  StopScope stop;
  ProgressDisplay display("load", in.progress_options());
  options.progress = ShowProgress(display);
  return Model::Load(file, options);
}

ProgressDisplay::Options Invocation::progress_options() const {
  const std::string_view wanted = config.Get("general.progress");
  ProgressDisplay::Options options;
  options.write = [this](std::string_view text) { diagnostics.Raw(text); };
  options.width = Terminal::Width;
  if (wanted == "none" || diagnostics.quiet()) {
    options.mode = ProgressMode::kNone;
  } else if (json || diagnostics.json()) {
    options.mode = ProgressMode::kJson;
  } else {
    const bool bar = wanted == "auto" && terminal.stderr_is_terminal && !terminal.is_dumb;
    options.mode = bar ? ProgressMode::kBar : ProgressMode::kPlain;
  }
  return options;
}

}  // namespace quern::cli
