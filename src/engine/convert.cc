// Converting and quantising: what to write (models/tensor_export.h), as which types (models/quantize_plan.h), and how
// (engine/model_writer.h).
#include "quern/convert.h"

#include "engine/model_writer.h"
#include "models/quantize_plan.h"
#include "models/tensor_export.h"

namespace quern {
namespace {

using models::ExportTensor;

Result<std::optional<DType>> ParseFloatType(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::optional<DType> dtype = DTypeFromName(name);
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is not F32, F16 or BF16", name),
                    "quantize writes quantised types");
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

int FloatFileType(std::optional<DType> dtype, const models::Checkpoint& checkpoint) {
  if (checkpoint.gguf) {
    const auto kept = checkpoint.gguf->GetInt("general.file_type");
    const bool is_quantized =
        kept && *kept && **kept > models::FileTypeOf(DType::kF16) && **kept != models::FileTypeOf(DType::kBF16);
    if (kept && *kept && (!dtype || is_quantized)) return static_cast<int>(**kept);
  }
  if (dtype) return models::FileTypeOf(*dtype);
  const TensorView* embedding = checkpoint.tensors.Find("token_embd.weight");
  return models::FileTypeOf(embedding != nullptr ? embedding->dtype : DType::kF32);
}

}  // namespace

Result<ConvertResult> ConvertModel(const ModelFile& source, const std::string& destination,
                                   const ConvertOptions& options) {
  if (options.to != "gguf" && options.to != "safetensors") {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a format; gguf and safetensors are", options.to);
  }
  if (!options.tensor_types.empty() || !options.imatrix.empty()) {
    return WithHint(Fail(Code::kInvalidArgument, "tensor types and importance matrices belong to quantising"),
                    "use quantize");
  }
  QUERN_ASSIGN_OR_RETURN(const std::optional<DType> dtype, ParseFloatType(options.dtype));
  if (!options.dry_run) QUERN_TRY(engine::CheckDestination(destination));
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(source.path));
  const bool to_gguf = options.to == "gguf";
  QUERN_ASSIGN_OR_RETURN(
      std::vector<ExportTensor> tensors,
      to_gguf ? models::ListGgufTensors(checkpoint) : models::ListSafetensors(checkpoint, DType::kBF16, dtype));
  if (to_gguf && dtype) models::PlanFloats(*dtype, &tensors);
  ConvertResult result = Summarize(tensors);
  if (options.dry_run) return result;
  const Status written =
      to_gguf ? engine::WriteGgufModel(checkpoint, tensors, {FloatFileType(dtype, checkpoint), nullptr, "convert"},
                                       destination, options)
              : engine::WriteHfModel(checkpoint, tensors, destination, options);
  if (!written) return WithFrame(written.error(), fmt::format("writing {}", destination));
  return result;
}

Result<ConvertResult> QuantizeModel(const ModelFile& source, const std::string& destination,
                                    const ConvertOptions& options) {
  if (options.to != "gguf")
    return Fail(Code::kInvalidArgument, "quantised models are written as gguf, not \"{}\"", options.to);
  QUERN_ASSIGN_OR_RETURN(const models::QuantizeType type, models::ParseQuantizeType(options.dtype));
  QUERN_ASSIGN_OR_RETURN(const std::vector<models::TypeOverride> overrides, ParseOverrides(options));
  if (!options.dry_run) QUERN_TRY(engine::CheckDestination(destination));
  std::optional<format::ImportanceMatrix> importance;
  if (!options.imatrix.empty()) {
    QUERN_ASSIGN_OR_RETURN(importance, format::ImportanceMatrix::Open(options.imatrix));
  }
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(source.path));
  QUERN_ASSIGN_OR_RETURN(std::vector<ExportTensor> tensors, models::ListGgufTensors(checkpoint));
  QUERN_TRY(models::PlanQuantization(type, overrides, &tensors));
  ConvertResult result = Summarize(tensors);
  if (options.dry_run) return result;
  const engine::GgufWriteOptions write{type.file_type, importance ? &*importance : nullptr, "quantize"};
  const Status written = engine::WriteGgufModel(checkpoint, tensors, write, destination, options);
  if (!written) return WithFrame(written.error(), fmt::format("writing {}", destination));
  return result;
}

}  // namespace quern
