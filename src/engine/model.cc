// Loading a model: open, check, plan memory, prepare weights.
#include "quern/model.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "engine/model_impl.h"
#include "models/registry.h"

namespace quern {
namespace {

using Clock = std::chrono::steady_clock;

DType KvDType(KvType type) {
  switch (type) {
    case KvType::kF16:
      return DType::kF16;
    case KvType::kBF16:
      return DType::kBF16;
    case KvType::kF32:
      return DType::kF32;
  }
  return DType::kF16;
}

std::string GiB(int64_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

Status CheckDevice(std::string_view device) {
  if (device == "auto" || device == "cpu") return {};
  if (device.starts_with("cuda") || device == "metal") {
    return WithHint(Fail(Code::kUnsupported, "this build has no {} device", device), "use --device cpu");
  }
  return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is not a device", device), "auto, cpu, cuda[:N] or metal");
}

Status CheckOptions(const LoadOptions& options, int64_t context_limit) {
  if (options.context > context_limit) {
    return WithHint(
        Fail(Code::kInvalidArgument, "context {} is beyond the model's limit of {}", options.context, context_limit),
        "lower --ctx");
  }
  if (options.context != 0 && options.context != -1 && options.context < 16) {
    return Fail(Code::kInvalidArgument, "context {} is too small; at least 16", options.context);
  }
  if (options.threads < 0 || options.threads > 1024) {
    return Fail(Code::kInvalidArgument, "{} threads; 1 to 1024, or 0 for all", options.threads);
  }
  if (options.max_sequences < 1 || options.prefill_chunk < 1 || options.prefill_chunk > 8192) {
    return Fail(Code::kInvalidArgument, "max_sequences {} or prefill_chunk {} is out of range", options.max_sequences,
                options.prefill_chunk);
  }
  return {};
}

int64_t CountParameters(const TensorTable& tensors) {
  int64_t count = 0;
  for (const auto& [name, view] : tensors.tensors) count += view.shape.num_elems();
  return count;
}

}  // namespace

namespace engine {

int64_t EffectiveContext(int64_t asked, int64_t limit) {
  constexpr int64_t kDefaultContext = 8192;
  if (asked < 0) return limit;
  return asked == 0 ? std::min(limit, kDefaultContext) : asked;
}

int MaxKeptRows(int64_t vocab_size, int max_step_rows) {
  return static_cast<int>(std::clamp<int64_t>(kLogitsBytes / (vocab_size * 4), 1, max_step_rows));
}

Result<TextParts> LoadText(const models::Checkpoint& checkpoint, const models::GenerationDefaults& defaults) {
  TextParts parts;
  QUERN_ASSIGN_OR_RETURN(format::Vocabulary vocabulary, models::ReadVocabulary(checkpoint));
  QUERN_ASSIGN_OR_RETURN(parts.tokenizer, text::MakeTokenizer(std::move(vocabulary)));
  parts.tokenizer->AddEndIds(defaults.end_ids);
  Result<std::unique_ptr<text::ChatFormat>> format = text::MakeChatFormat(parts.tokenizer);
  if (format) {
    parts.chat_format = std::move(*format);
  } else if (format.error().code == Code::kUnsupported) {
    parts.chat_refusal = format.error().message;
  } else {
    return tl::unexpected(format.error());
  }
  return parts;
}

namespace {

// The larger of a step's buffers, known before anything is allocated.
Status CheckMemory(const Model::Impl& impl, const runtime::KvCacheOptions& cache_options, const LoadOptions& options) {
  const int64_t budget =
      options.memory_budget_bytes > 0 ? options.memory_budget_bytes : device::cpu::CpuDevice::UsableMemoryBytes();
  int64_t weights = 0;
  for (const ops::WeightSpec& spec : impl.program->weights) {
    if (spec.use != ops::WeightUse::kTable) weights += spec.view.num_bytes();
  }
  const int64_t cache = runtime::KvCache::NumBytes(impl.program->kv, cache_options);
  if (weights + cache <= budget) return {};
  return WithHint(
      Fail(Code::kResourceExhausted, "weights need {} and {} positions of {} sequences need {}; the budget is {}",
           GiB(weights), cache_options.context, cache_options.max_sequences, GiB(cache), GiB(budget)),
      "lower --ctx, take a smaller quantisation, or raise --memory-budget");
}

Status LoadInto(Model::Impl* impl, const ModelFile& file, const LoadOptions& options) {
  QUERN_TRY(CheckDevice(options.device));
  QUERN_ASSIGN_OR_RETURN(impl->checkpoint, models::OpenCheckpoint(file.path));
  QUERN_ASSIGN_OR_RETURN(impl->defaults, models::ReadGenerationDefaults(impl->checkpoint));
  QUERN_ASSIGN_OR_RETURN(impl->decoder, models::MakeDecoder(impl->checkpoint));
  QUERN_TRY(CheckOptions(options, impl->decoder->info().context_limit));
  QUERN_ASSIGN_OR_RETURN(TextParts parts, LoadText(impl->checkpoint, impl->defaults));
  impl->tokenizer = std::move(parts.tokenizer);
  impl->chat_format = std::move(parts.chat_format);
  impl->chat_refusal = std::move(parts.chat_refusal);
  const int64_t vocab = impl->decoder->info().vocab_size;
  if (impl->tokenizer->size() > vocab) {
    return Fail(Code::kCorrupt, "the tokenizer has {} tokens, but the embedding only {} rows", impl->tokenizer->size(),
                vocab);
  }

  QUERN_ASSIGN_OR_RETURN(ops::Program program, impl->decoder->BuildProgram({}));
  impl->program = std::make_shared<const ops::Program>(std::move(program));
  device::cpu::CpuDeviceOptions device_options;
  device_options.num_threads = options.threads;
  impl->device = std::make_unique<device::cpu::CpuDevice>(device_options);

  const int64_t context = EffectiveContext(options.context, impl->decoder->info().context_limit);
  runtime::KvCacheOptions cache_options;
  cache_options.dtype = KvDType(options.kv_type);
  cache_options.context = context;
  cache_options.max_sequences = options.max_sequences;
  cache_options.max_step_rows = static_cast<int>(std::min<int64_t>(options.prefill_chunk, context));
  QUERN_TRY(CheckMemory(*impl, cache_options, options));

  ops::ExecutorOptions executor_options;
  executor_options.max_rows = cache_options.max_step_rows;
  executor_options.max_kept = MaxKeptRows(vocab, cache_options.max_step_rows);
  executor_options.numerics =
      options.numerics == NumericsMode::kExact ? ops::Numerics::kExact : ops::Numerics::kDefault;
  if (options.progress) {
    executor_options.progress = [&](int64_t done, int64_t total) { return options.progress({"prepare", done, total}); };
  }
  QUERN_ASSIGN_OR_RETURN(impl->executor, ops::MakeCpuExecutor(impl->program, *impl->device, executor_options));
  QUERN_ASSIGN_OR_RETURN(impl->cache, runtime::KvCache::Create(impl->program->kv, cache_options));
  impl->stepper = std::make_unique<runtime::Stepper>(*impl->executor, *impl->program, *impl->cache,
                                                     executor_options.max_rows, executor_options.max_kept);
  return {};
}

void FillInfo(Model::Impl* impl, const ModelFile& file) {
  ModelInfo& info = impl->info;
  const models::DecoderInfo& decoder = impl->decoder->info();
  info.reference = file.reference.empty() ? file.path : file.reference;
  info.path = file.path;
  info.architecture = decoder.architecture;
  info.name = impl->checkpoint.name;
  info.quantization = models::DescribeQuantization(impl->checkpoint.tensors);
  info.device = fmt::format("cpu, {} thread{}, {}", impl->device->num_threads(),
                            impl->device->num_threads() == 1 ? "" : "s", device::cpu::NameOf(impl->device->isa()));
  if (impl->chat_format) {
    info.chat_format = impl->chat_format->name();
    info.chat_notice = impl->chat_format->template_notice();
    info.supports_thinking = impl->chat_format->supports_thinking();
    info.supports_tools = impl->chat_format->supports_tools();
  } else {
    info.chat_notice = impl->chat_refusal;
  }
  info.num_parameters = CountParameters(impl->checkpoint.tensors);
  for (const auto& mapped : impl->checkpoint.tensors.files)
    info.file_bytes += static_cast<int64_t>(mapped->bytes().size());
  info.weight_bytes = impl->executor->weight_bytes();
  info.cache_bytes = impl->cache->num_bytes();
  info.scratch_bytes = impl->executor->scratch_bytes();
  info.context_limit = decoder.context_limit;
  info.context = impl->cache->context();
  info.num_layers = decoder.num_layers;
  info.hidden_size = decoder.hidden_size;
  info.vocab_size = static_cast<int>(decoder.vocab_size);
  info.sliding_window = decoder.sliding_window;
  info.sampling = {impl->defaults.temperature, impl->defaults.top_p, impl->defaults.min_p, impl->defaults.top_k};
}

}  // namespace
}  // namespace engine

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

Result<std::shared_ptr<Model>> Model::Load(const ModelFile& file, const LoadOptions& options) {
  const auto start = Clock::now();
  auto impl = std::make_unique<Impl>();
  if (Status status = engine::LoadInto(impl.get(), file, options); !status) {
    return WithFrame(status.error(), fmt::format("loading {}", file.path));
  }
  engine::FillInfo(impl.get(), file);
  impl->info.load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return std::shared_ptr<Model>(new Model(std::move(impl)));
}

const ModelInfo& Model::info() const { return impl_->info; }

std::vector<Route> Model::Routes() const {
  std::vector<Route> routes;
  for (const ops::RouteRow& row : impl_->executor->Routes()) {
    routes.push_back({row.tensor, row.dtype, row.kernel, row.numerics, row.reason});
  }
  return routes;
}

}  // namespace quern
