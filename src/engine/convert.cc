// Converting and quantising: what to write (models/tensor_export.h), as which types (models/quantize_plan.h), and writing it
// tensor by tensor under a temporary name.
#include "quern/convert.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "device/cpu/cpu_device.h"
#include "engine/tensor_stream.h"
#include "format/safetensors_stream_writer.h"
#include "models/quantize_plan.h"
#include "models/tensor_export.h"

namespace quern {
namespace {

using models::ExportTensor;

Status CheckDestination(const std::string& destination) {
  std::error_code error;
  if (destination.empty()) return Fail(Code::kInvalidArgument, "no destination is given");
  if (std::filesystem::symlink_status(destination, error).type() != std::filesystem::file_type::not_found) {
    return WithHint(Fail(Code::kInvalidArgument, "{} exists already", destination), "choose another name; nothing is overwritten");
  }
  return {};
}

Result<std::optional<DType>> ParseFloatType(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is not F32, F16 or BF16", name), "quantize writes quantised types");
  }
  return dtype;
}

Result<std::vector<models::TypeOverride>> ParseOverrides(const ConvertOptions& options) {
  std::vector<models::TypeOverride> overrides;
  for (const auto& [glob, name] : options.tensor_types) {
    const std::optional<DType> dtype = DTypeFromName(name);
    if (!dtype || !InfoOf(*dtype).is_float || *dtype == DType::kF64) {
      return Fail(Code::kInvalidArgument, "\"{}\" for \"{}\" is not a type of weights", name, glob);
    }
    overrides.emplace_back(glob, *dtype);
  }
  return overrides;
}

ConvertResult Summarize(const std::vector<ExportTensor>& tensors) {
  ConvertResult result;
  for (const ExportTensor& tensor : tensors) {
    TensorPlan plan;
    plan.name = tensor.name;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) plan.shape.push_back(tensor.shape[axis]);
    plan.from = NameOf(tensor.from);
    plan.to = NameOf(tensor.to);
    plan.reason = tensor.reason;
    plan.bytes_after = tensor.bytes_after();
    result.bytes_before += tensor.bytes_before();
    result.bytes_after += plan.bytes_after;
    result.plan.push_back(std::move(plan));
  }
  return result;
}

// A value as its text says: true, 12, -3, 0.5, else a string. A key that the source has keeps its type where the text fits.
format::GgufValue ParseMetadataValue(std::string_view key, const std::string& text, const format::GgufFile* source) {
  using format::GgufType;
  format::GgufValue value{GgufType::kString, GgufType::kUint32, text};
  const auto found = source != nullptr ? source->metadata().find(key) : decltype(source->metadata().find(key)){};
  const bool is_known = source != nullptr && found != source->metadata().end();
  if (is_known ? found->second.type == GgufType::kString : key.starts_with("general.")) return value;
  if (text == "true" || text == "false") return {GgufType::kBool, GgufType::kUint32, text == "true"};
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, integer); error == std::errc() && at == end) {
    if (is_known && found->second.type == GgufType::kFloat32) return {GgufType::kFloat32, GgufType::kUint32, static_cast<double>(integer)};
    if (integer < 0) return {GgufType::kInt64, GgufType::kUint32, integer};
    const bool is_narrow = integer <= int64_t{UINT32_MAX};
    return {is_narrow ? GgufType::kUint32 : GgufType::kUint64, GgufType::kUint32, static_cast<uint64_t>(integer)};
  }
  double number = 0;
  if (const auto [at, error] = std::from_chars(text.data(), end, number); error == std::errc() && at == end) {
    return {GgufType::kFloat32, GgufType::kUint32, number};
  }
  return value;
}

// Counts bytes over all tensors and asks the caller whether to go on.
class ProgressCounter {
 public:
  ProgressCounter(const ConvertOptions& options, std::string_view stage, const std::vector<ExportTensor>& tensors)
      : progress_(options.progress), stage_(stage) {
    for (const ExportTensor& tensor : tensors) total_ += tensor.bytes_after();
  }
  Status Advance(size_t num_bytes) {
    done_ += static_cast<int64_t>(num_bytes);
    if (progress_ && !progress_({stage_, done_, total_})) return Fail(Code::kCancelled, "interrupted");
    return {};
  }

 private:
  const ProgressFn& progress_;
  std::string_view stage_;
  int64_t done_ = 0, total_ = 0;
};

int NumThreads(const ConvertOptions& options) {
  return options.threads > 0 ? options.threads : device::cpu::CpuDevice::UsableProcessors();
}

template <typename Writer>
Status WriteTensors(const std::vector<ExportTensor>& tensors, const format::ImportanceMatrix* importance,
                    const ConvertOptions& options, std::string_view stage, Writer* writer) {
  ThreadTeam team(NumThreads(options));
  engine::TensorStream stream(team, importance);
  ProgressCounter counter(options, stage, tensors);
  for (const ExportTensor& tensor : tensors) {
    QUERN_TRY(stream.Write(tensor, [&](std::span<const std::byte> bytes) -> Status {
      QUERN_TRY(writer->AppendTensorData(bytes));
      return counter.Advance(bytes.size());
    }));
  }
  return {};
}

Status WriteGguf(const models::Checkpoint& checkpoint, const std::vector<ExportTensor>& tensors, int file_type,
                 const format::ImportanceMatrix* importance, const std::string& destination, const ConvertOptions& options,
                 std::string_view stage) {
  constexpr uint32_t kQuantizationVersion = 2;  // of the block layouts: ggml's GGML_QNT_VERSION
  format::GgufWriter writer;
  QUERN_TRY(models::WriteGgufMetadata(checkpoint, &writer));
  writer.SetUint32("general.file_type", static_cast<uint32_t>(file_type));
  writer.SetUint32("general.quantization_version", kQuantizationVersion);
  const format::GgufFile* source = checkpoint.gguf ? &*checkpoint.gguf : nullptr;
  for (const auto& [key, text] : options.metadata) writer.Set(key, ParseMetadataValue(key, text, source));
  for (const ExportTensor& tensor : tensors) QUERN_TRY(writer.AddTensor(tensor.name, tensor.to, tensor.shape));
  QUERN_TRY(writer.Begin(destination, AtomicFile::IfExists::kFail));
  QUERN_TRY(WriteTensors(tensors, importance, options, stage, &writer));
  return writer.Finish();
}

// A folder that is removed with its content unless it is published under its final name.
class FolderInMaking {
 public:
  static Result<FolderInMaking> Create(const std::filesystem::path& destination) {
    std::filesystem::path clean = destination;
    if (!clean.has_filename()) clean = clean.parent_path();  // a trailing slash
    FolderInMaking folder(clean, clean.string() + fmt::format(".partial-{}", ::getpid()));
    std::error_code error;
    if (!std::filesystem::create_directory(folder.temporary_, error) || error) {
      folder.temporary_.clear();
      return Fail(Code::kInvalidArgument, "cannot create a folder beside {}: {}", clean.string(),
                  error ? error.message() : "a partial one is there");
    }
    return folder;
  }
  FolderInMaking(FolderInMaking&& other) noexcept
      : destination_(std::move(other.destination_)), temporary_(std::exchange(other.temporary_, {})) {}
  FolderInMaking& operator=(FolderInMaking&&) = delete;
  ~FolderInMaking() {
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
  }
  const std::filesystem::path& path() const { return temporary_; }
  Status Publish() {
    QUERN_TRY(CheckDestination(destination_.string()));
    std::error_code error;
    std::filesystem::rename(temporary_, destination_, error);
    if (error) return Fail(Code::kInvalidArgument, "cannot rename to {}: {}", destination_.string(), error.message());
    temporary_.clear();
    return {};
  }

 private:
  FolderInMaking(std::filesystem::path destination, std::filesystem::path temporary)
      : destination_(std::move(destination)), temporary_(std::move(temporary)) {}
  std::filesystem::path destination_, temporary_;
};

// "bfloat16": of the matrices, by bytes.
std::string_view TorchNameOf(const std::vector<ExportTensor>& tensors) {
  int64_t f32 = 0, f16 = 0, bf16 = 0;
  for (const ExportTensor& tensor : tensors) {
    if (tensor.to == DType::kF32) f32 += tensor.bytes_after();
    if (tensor.to == DType::kF16) f16 += tensor.bytes_after();
    if (tensor.to == DType::kBF16) bf16 += tensor.bytes_after();
  }
  if (f32 > f16 && f32 > bf16) return "float32";
  return f16 > bf16 ? "float16" : "bfloat16";
}

Status WriteFolder(const models::Checkpoint& checkpoint, const std::vector<ExportTensor>& tensors, const std::string& destination,
                   const ConvertOptions& options) {
  if (!options.metadata.empty()) {
    return Fail(Code::kInvalidArgument, "metadata can be set in GGUF output only");
  }
  QUERN_ASSIGN_OR_RETURN(FolderInMaking folder, FolderInMaking::Create(destination));
  QUERN_TRY(models::WriteHfDocuments(checkpoint, folder.path(), TorchNameOf(tensors)));
  format::SafetensorsStreamWriter writer;
  for (const ExportTensor& tensor : tensors) QUERN_TRY(writer.AddTensor(tensor.name, tensor.to, tensor.shape));
  QUERN_TRY(writer.Begin(folder.path() / "model.safetensors", {{"format", "pt"}}, AtomicFile::IfExists::kFail));
  QUERN_TRY(WriteTensors(tensors, nullptr, options, "convert", &writer));
  QUERN_TRY(writer.Finish());
  return folder.Publish();
}

int FloatFileType(std::optional<DType> dtype, const models::Checkpoint& checkpoint) {
  if (checkpoint.gguf) {
    const auto kept = checkpoint.gguf->GetInt("general.file_type");
    const bool is_quantized = kept && *kept && **kept > models::FileTypeOf(DType::kF16) && **kept != models::FileTypeOf(DType::kBF16);
    if (kept && *kept && (!dtype || is_quantized)) return static_cast<int>(**kept);
  }
  if (dtype) return models::FileTypeOf(*dtype);
  const TensorView* embedding = checkpoint.tensors.Find("token_embd.weight");
  return models::FileTypeOf(embedding != nullptr ? embedding->dtype : DType::kF32);
}

}  // namespace

Result<ConvertResult> ConvertModel(const ModelFile& source, const std::string& destination, const ConvertOptions& options) {
  if (options.to != "gguf" && options.to != "safetensors") {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a format; gguf and safetensors are", options.to);
  }
  if (!options.tensor_types.empty() || !options.imatrix.empty()) {
    return WithHint(Fail(Code::kInvalidArgument, "tensor types and importance matrices belong to quantising"), "use quantize");
  }
  QUERN_ASSIGN_OR_RETURN(const std::optional<DType> dtype, ParseFloatType(options.dtype));
  if (!options.dry_run) QUERN_TRY(CheckDestination(destination));
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(source.path));
  const bool to_gguf = options.to == "gguf";
  QUERN_ASSIGN_OR_RETURN(std::vector<ExportTensor> tensors, to_gguf ? models::ListGgufTensors(checkpoint)
                                                                    : models::ListSafetensors(checkpoint, DType::kBF16, dtype));
  if (to_gguf && dtype) models::PlanFloats(*dtype, &tensors);
  ConvertResult result = Summarize(tensors);
  if (options.dry_run) return result;
  const Status written = to_gguf ? WriteGguf(checkpoint, tensors, FloatFileType(dtype, checkpoint), nullptr, destination, options,
                                             "convert")
                                 : WriteFolder(checkpoint, tensors, destination, options);
  if (!written) return WithFrame(written.error(), fmt::format("writing {}", destination));
  return result;
}

Result<ConvertResult> QuantizeModel(const ModelFile& source, const std::string& destination, const ConvertOptions& options) {
  if (options.to != "gguf") return Fail(Code::kInvalidArgument, "quantised models are written as gguf, not \"{}\"", options.to);
  QUERN_ASSIGN_OR_RETURN(const models::QuantizeType type, models::ParseQuantizeType(options.dtype));
  QUERN_ASSIGN_OR_RETURN(const std::vector<models::TypeOverride> overrides, ParseOverrides(options));
  if (!options.dry_run) QUERN_TRY(CheckDestination(destination));
  std::optional<format::ImportanceMatrix> importance;
  if (!options.imatrix.empty()) {
    QUERN_ASSIGN_OR_RETURN(importance, format::ImportanceMatrix::Open(options.imatrix));
  }
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(source.path));
  QUERN_ASSIGN_OR_RETURN(std::vector<ExportTensor> tensors, models::ListGgufTensors(checkpoint));
  QUERN_TRY(models::PlanQuantization(type, overrides, &tensors));
  ConvertResult result = Summarize(tensors);
  if (options.dry_run) return result;
  const Status written = WriteGguf(checkpoint, tensors, type.file_type, importance ? &*importance : nullptr, destination, options,
                                   "quantize");
  if (!written) return WithFrame(written.error(), fmt::format("writing {}", destination));
  return result;
}

}  // namespace quern
