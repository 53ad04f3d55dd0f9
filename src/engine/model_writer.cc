#include "engine/model_writer.h"

#include <charconv>
#include <filesystem>

#include <unistd.h>

#include "device/cpu/cpu_device.h"
#include "engine/tensor_stream.h"
#include "format/safetensors_stream_writer.h"

namespace quern::engine {
namespace {

using models::ExportTensor;

// A value as its text says: true, 12, -3, 0.5, else a string. A key that the source has as a string, and keys under
// "general.", are strings whatever they look like; one that it has as a float stays one.
format::GgufValue ParseMetadataValue(std::string_view key, const std::string& text, const format::GgufFile* source) {
  using format::GgufType;
  std::optional<GgufType> known;
  if (source != nullptr) {
    const auto found = source->metadata().find(key);
    if (found != source->metadata().end()) known = found->second.type;
  }
  const auto make = [](GgufType type, auto data) { return format::GgufValue{type, GgufType::kUint32, data}; };
  if (known ? *known == GgufType::kString : key.starts_with("general.")) return make(GgufType::kString, text);
  if (text == "true" || text == "false") return make(GgufType::kBool, text == "true");
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  const auto [int_end, int_error] = std::from_chars(text.data(), end, integer);
  if (int_error == std::errc() && int_end == end && known != GgufType::kFloat32) {
    if (integer < 0) return make(GgufType::kInt64, integer);
    return make(std::in_range<uint32_t>(integer) ? GgufType::kUint32 : GgufType::kUint64,
                static_cast<uint64_t>(integer));
  }
  double number = 0;
  const auto [float_end, float_error] = std::from_chars(text.data(), end, number);
  if (float_error == std::errc() && float_end == end && !text.empty()) return make(GgufType::kFloat32, number);
  return make(GgufType::kString, text);
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
  TensorStream stream(team, importance);
  ProgressCounter counter(options, stage, tensors);
  for (const ExportTensor& tensor : tensors) {
    QUERN_TRY(stream.Write(tensor, [&](std::span<const std::byte> bytes) -> Status {
      QUERN_TRY(writer->AppendTensorData(bytes));
      return counter.Advance(bytes.size());
    }));
  }
  return {};
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

}  // namespace

Status CheckDestination(const std::string& destination) {
  std::error_code error;
  if (destination.empty()) return Fail(Code::kInvalidArgument, "no destination is given");
  if (std::filesystem::symlink_status(destination, error).type() != std::filesystem::file_type::not_found) {
    return WithHint(Fail(Code::kInvalidArgument, "{} exists already", destination),
                    "choose another name; nothing is overwritten");
  }
  return {};
}

Status WriteGgufModel(const models::Checkpoint& checkpoint, const std::vector<ExportTensor>& tensors,
                      const GgufWriteOptions& write, const std::string& destination, const ConvertOptions& options) {
  constexpr uint32_t kQuantizationVersion = 2;  // of the block layouts: ggml's GGML_QNT_VERSION
  format::GgufWriter writer;
  QUERN_TRY(models::WriteGgufMetadata(checkpoint, &writer));
  writer.SetUint32("general.file_type", static_cast<uint32_t>(write.file_type));
  writer.SetUint32("general.quantization_version", kQuantizationVersion);
  const format::GgufFile* source = checkpoint.gguf ? &*checkpoint.gguf : nullptr;
  for (const auto& [key, text] : options.metadata) writer.Set(key, ParseMetadataValue(key, text, source));
  for (const ExportTensor& tensor : tensors) QUERN_TRY(writer.AddTensor(tensor.name, tensor.to, tensor.shape));
  QUERN_TRY(writer.Begin(destination, AtomicFile::IfExists::kFail));
  QUERN_TRY(WriteTensors(tensors, write.importance, options, write.stage, &writer));
  return writer.Finish();
}

Status WriteHfModel(const models::Checkpoint& checkpoint, const std::vector<ExportTensor>& tensors,
                    const std::string& destination, const ConvertOptions& options) {
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

}  // namespace quern::engine
