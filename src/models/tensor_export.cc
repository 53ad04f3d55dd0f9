#include "models/tensor_export.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "models/gemma3/config.h"
#include "models/gemma4/config.h"
#include "models/gemma4/gguf_metadata.h"
#include "models/quantize_plan.h"
#include "models/registry.h"

namespace quern::models {
namespace {

constexpr std::string_view kRopeFreqs = "rope_freqs.weight";
constexpr std::string_view kGateExperts = "ffn_gate_exps.weight";
constexpr std::string_view kUpExperts = "ffn_up_exps.weight";
constexpr std::string_view kGateUpExperts = "ffn_gate_up_exps.weight";

// Global tensors by name, then layers by number, then names: the order in which a loader wants to read.
auto FileOrder(const ExportTensor& tensor) {
  int layer = -1;
  std::string_view name = tensor.canonical;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return std::tuple(layer, name != "token_embd.weight", name);
}

// Gemma 3 norms are stored as w in safetensors and as 1 + w in GGUF.
float NormOffset(const Checkpoint& checkpoint, std::string_view canonical, float offset) {
  return checkpoint.architecture == "gemma3" && canonical.ends_with("norm.weight") ? offset : 0.0f;
}

ExportTensor FromView(std::string_view canonical, const TensorView& view) {
  ExportTensor tensor;
  tensor.name = tensor.canonical = canonical;
  tensor.shape = view.shape;
  tensor.from = tensor.to = view.dtype;
  tensor.parts = {view};
  return tensor;
}

// [E, Fg, D] and [E, Fu, D] as [E, Fg + Fu, D].
Result<ExportTensor> FuseExperts(const TensorTable& tensors, std::string_view gate_name) {
  const std::string prefix(gate_name.substr(0, gate_name.size() - kGateExperts.size()));
  const TensorView& gate = *tensors.Find(gate_name);
  const TensorView* up = tensors.Find(prefix + std::string(kUpExperts));
  if (up == nullptr) return Fail(Code::kCorrupt, "{} has no {}", gate_name, kUpExperts);
  const bool fits = gate.shape.rank() == 3 && up->shape.rank() == 3 && gate.shape[0] == up->shape[0] &&
                    gate.shape[2] == up->shape[2] && gate.dtype == up->dtype;
  if (!fits) {
    return Fail(Code::kCorrupt, "{} {} {} and its up projection {} {} cannot be joined", gate_name, NameOf(gate.dtype),
                gate.shape.ToString(), NameOf(up->dtype), up->shape.ToString());
  }
  ExportTensor tensor = FromView(prefix + std::string(kGateUpExperts), gate);
  tensor.shape = {gate.shape[0], gate.shape[1] + up->shape[1], gate.shape[2]};
  tensor.parts.push_back(*up);
  return tensor;
}

Status AddRopeFreqs(const Checkpoint& checkpoint, std::vector<ExportTensor>* list) {
  if (checkpoint.architecture != "gemma4" || checkpoint.tensors.Find(kRopeFreqs) != nullptr || checkpoint.is_gguf())
    return {};
  QUERN_ASSIGN_OR_RETURN(const auto config, gemma4::Gemma4Config::FromJson(checkpoint.folder->config));
  ExportTensor tensor;
  tensor.name = tensor.canonical = kRopeFreqs;
  tensor.generated = gemma4::RopeFreqs(config);
  tensor.shape = {static_cast<int64_t>(tensor.generated.size())};
  if (!tensor.generated.empty()) list->push_back(std::move(tensor));
  return {};
}

}  // namespace

int64_t ExportTensor::bytes_before() const {
  int64_t bytes = static_cast<int64_t>(generated.size() * sizeof(float));
  for (const TensorView& part : parts) bytes += part.num_bytes();
  return bytes;
}

Result<std::vector<ExportTensor>> ListGgufTensors(const Checkpoint& checkpoint) {
  std::vector<ExportTensor> list;
  for (const auto& [name, view] : checkpoint.tensors.tensors) {
    ExportTensor tensor = FromView(name, view);
    if (!checkpoint.is_gguf()) tensor.offset = NormOffset(checkpoint, name, 1);
    if (UseOf(tensor) == TensorUse::kExact) tensor.to = DType::kF32;
    list.push_back(std::move(tensor));
  }
  QUERN_TRY(AddRopeFreqs(checkpoint, &list));
  std::ranges::sort(list, {}, FileOrder);
  return list;
}

Result<std::vector<ExportTensor>> ListSafetensors(const Checkpoint& checkpoint, DType decoded,
                                                  std::optional<DType> dtype) {
  std::vector<ExportTensor> list;
  for (const auto& [name, view] : checkpoint.tensors.tensors) {
    if (name == kRopeFreqs || name.ends_with(kUpExperts)) continue;
    ExportTensor tensor = FromView(name, view);
    if (name.ends_with(kGateExperts)) {
      QUERN_ASSIGN_OR_RETURN(tensor, FuseExperts(checkpoint.tensors, name));
    }
    const auto hf_name = HfTensorName(checkpoint.architecture, tensor.canonical);
    if (!hf_name) return Fail(Code::kUnsupported, "{} has no name in a Hugging Face checkpoint", name);
    tensor.name = *hf_name;
    if (checkpoint.is_gguf()) tensor.offset = NormOffset(checkpoint, name, -1);
    if (InfoOf(view.dtype).is_float) tensor.to = dtype.value_or(InfoOf(view.dtype).is_quantized ? decoded : view.dtype);
    list.push_back(std::move(tensor));
  }
  const auto by_element = [](const ExportTensor& tensor) {
    return std::tuple(-InfoOf(tensor.to).block_bytes, FileOrder(tensor));
  };
  std::ranges::sort(list, {}, by_element);
  return list;
}

}  // namespace quern::models
