#include "models/quantize_plan.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace quern::models {
namespace {

struct NamedType {
  std::string_view name;
  DType base;
  std::optional<DType> raised;
  int file_type;
};
// file_type: enum llama_ftype of llama.cpp's llama.h.
constexpr NamedType kTypes[] = {
    {"Q4_0", DType::kQ4_0, {}, 2},
    {"Q4_1", DType::kQ4_1, {}, 3},
    {"Q5_0", DType::kQ5_0, {}, 8},
    {"Q5_1", DType::kQ5_1, {}, 9},
    {"Q8_0", DType::kQ8_0, {}, 7},
    {"Q2_K", DType::kQ2_K, {}, 10},
    {"Q3_K", DType::kQ3_K, {}, 11},
    {"Q4_K", DType::kQ4_K, {}, 14},
    {"Q5_K", DType::kQ5_K, {}, 16},
    {"Q6_K", DType::kQ6_K, {}, 18},
    {"IQ4_NL", DType::kIQ4_NL, {}, 25},
    {"IQ4_XS", DType::kIQ4_XS, {}, 30},
    {"MXFP4", DType::kMXFP4, {}, 38},
    {"Q3_K_S", DType::kQ3_K, {}, 11},
    {"Q3_K_M", DType::kQ3_K, DType::kQ5_K, 12},
    {"Q4_K_S", DType::kQ4_K, {}, 14},
    {"Q4_K_M", DType::kQ4_K, DType::kQ6_K, 15},
    {"Q5_K_S", DType::kQ5_K, {}, 16},
    {"Q5_K_M", DType::kQ5_K, DType::kQ6_K, 17},
};

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

double BitsPerValue(DType type) { return 8.0 * InfoOf(type).block_bytes / InfoOf(type).block_elems; }

// Linear time: on a mismatch only the last star can take more.
bool MatchesGlob(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == name[n] && glob[g] != '*'))) {
      ++g, ++n;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = n;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

// The type with blocks of 32 that has the same bits per value or the next more; among equals the one with the smaller
// error.
DType SmallBlockType(DType type) {
  switch (type) {
    case DType::kQ2_K:
    case DType::kQ3_K:
    case DType::kQ4_K:
    case DType::kIQ4_XS:
      return DType::kIQ4_NL;
    case DType::kQ5_K:
      return DType::kQ5_0;
    case DType::kQ6_K:
      return DType::kQ8_0;
    default:
      return type;
  }
}

DType HalfOf(DType from) { return from == DType::kF16 ? DType::kF16 : DType::kBF16; }

std::optional<int> LayerOf(std::string_view name) {
  if (!name.starts_with("blk.")) return std::nullopt;
  int layer = 0;
  const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return error == std::errc() ? std::optional<int>(layer) : std::nullopt;
}

// The first and the last eighth of the layers and every third between: the rule of llama.cpp's mixes.
bool IsSensitiveLayer(int layer, int num_layers) {
  const int eighth = num_layers / 8;
  return layer < eighth || layer >= 7 * num_layers / 8 || (layer - eighth) % 3 == 2;
}

bool IsRaisedRole(std::string_view name) {
  return name.ends_with(".attn_v.weight") || name.ends_with(".ffn_down.weight") ||
         name.ends_with(".ffn_down_exps.weight");
}

void Append(std::string* reason, std::string_view text) {
  if (!reason->empty()) *reason += "; ";
  *reason += text;
}

class Planner {
 public:
  Planner(const QuantizeType& type, const std::vector<TypeOverride>& overrides, int num_layers)
      : type_(type), overrides_(overrides), num_layers_(num_layers), used_(overrides.size(), false) {}

  void Plan(ExportTensor* tensor) {
    tensor->reason.clear();
    const TensorUse use = UseOf(*tensor);
    const DType* asked = Override(tensor->canonical);
    switch (use) {
      case TensorUse::kInteger:
        tensor->to = tensor->from;
        return;
      case TensorUse::kExact:
        tensor->to = DType::kF32;
        if (asked != nullptr && *asked != DType::kF32) tensor->reason = "always F32";
        return;
      case TensorUse::kHalf:
        PlanHalf(asked, tensor);
        return;
      case TensorUse::kEmbedding:
      case TensorUse::kMatrix:
        break;
    }
    DType wanted = asked != nullptr ? *asked : type_.base;
    if (asked == nullptr && use == TensorUse::kEmbedding) wanted = EmbeddingType(&tensor->reason);
    if (asked == nullptr && use == TensorUse::kMatrix) wanted = MatrixType(tensor->canonical, &tensor->reason);
    wanted = FitToRows(wanted, *tensor, &tensor->reason);
    // Bits that are gone do not come back.
    const bool grows = InfoOf(tensor->from).is_quantized && BitsPerValue(wanted) >= BitsPerValue(tensor->from);
    if (grows && wanted != tensor->from && asked == nullptr) {
      tensor->reason = fmt::format("already {}", NameOf(tensor->from));
      wanted = tensor->from;
    }
    tensor->to = wanted;
  }

  Status CheckOverrides() const {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      return WithHint(Fail(Code::kInvalidArgument, "no tensor matches \"{}\"", overrides_[i].first),
                      "names are those of GGUF, such as blk.3.ffn_down.weight; --dry-run lists them");
    }
    return {};
  }

 private:
  const DType* Override(std::string_view name) {
    const DType* found = nullptr;
    for (size_t i = 0; i < overrides_.size(); ++i) {
      if (!MatchesGlob(overrides_[i].first, name)) continue;
      used_[i] = true;
      found = &overrides_[i].second;
    }
    return found;
  }

  void PlanHalf(const DType* asked, ExportTensor* tensor) const {
    if (InfoOf(tensor->from).is_quantized) {  // a file made by others
      tensor->to = tensor->from;
      tensor->reason = fmt::format("already {}", NameOf(tensor->from));
      return;
    }
    tensor->to = HalfOf(tensor->from);
    if (asked != nullptr && !InfoOf(*asked).is_quantized) {
      tensor->to = *asked;
    } else {
      tensor->reason = "never quantised: it scales every layer's input";
    }
  }

  DType EmbeddingType(std::string* reason) const {
    if (BitsPerValue(type_.base) >= BitsPerValue(DType::kQ6_K)) return type_.base;
    *reason = "embeddings keep at least Q6_K";
    return DType::kQ6_K;
  }

  DType MatrixType(std::string_view name, std::string* reason) const {
    const std::optional<int> layer = LayerOf(name);
    if (!type_.raised || !layer || !IsRaisedRole(name) || !IsSensitiveLayer(*layer, num_layers_)) return type_.base;
    *reason = fmt::format("{} raises it", type_.name);
    return *type_.raised;
  }

  static DType FitToRows(DType wanted, const ExportTensor& tensor, std::string* reason) {
    const auto fits = [&](DType type) { return tensor.row_elems() % InfoOf(type).block_elems == 0; };
    if (fits(wanted)) return wanted;
    const DType small = SmallBlockType(wanted);
    if (fits(small)) {
      Append(reason, fmt::format("rows of {} are not whole blocks of {}", tensor.row_elems(), NameOf(wanted)));
      return small;
    }
    Append(reason, fmt::format("rows of {} are not whole blocks of 32", tensor.row_elems()));
    return InfoOf(tensor.from).is_quantized ? DType::kBF16 : HalfOf(tensor.from);
  }

  const QuantizeType& type_;
  const std::vector<TypeOverride>& overrides_;
  const int num_layers_;
  std::vector<bool> used_;
};

}  // namespace

TensorUse UseOf(const ExportTensor& tensor) {
  const std::string_view name = tensor.canonical;
  if (!InfoOf(tensor.from).is_float) return TensorUse::kInteger;
  if (tensor.shape.rank() < 2 || name.ends_with(".ffn_gate_inp.weight")) return TensorUse::kExact;
  if (name == "per_layer_model_proj.weight") return TensorUse::kHalf;
  if (name == "token_embd.weight" || name == "output.weight" || name == "per_layer_token_embd.weight") {
    return TensorUse::kEmbedding;
  }
  return TensorUse::kMatrix;
}

Result<QuantizeType> ParseQuantizeType(std::string_view name) {
  for (const NamedType& type : kTypes) {
    if (EqualsIgnoringCase(type.name, name))
      return QuantizeType{std::string(type.name), type.base, type.raised, type.file_type};
  }
  return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is not a type to quantise to", name),
                  fmt::format("{}", fmt::join(QuantizeTypeNames(), ", ")));
}

std::vector<std::string> QuantizeTypeNames() {
  std::vector<std::string> names;
  for (const NamedType& type : kTypes) names.emplace_back(type.name);
  return names;
}

Status PlanQuantization(const QuantizeType& type, const std::vector<TypeOverride>& overrides,
                        std::vector<ExportTensor>* tensors) {
  int num_layers = 0;
  for (const ExportTensor& tensor : *tensors)
    num_layers = std::max(num_layers, LayerOf(tensor.canonical).value_or(-1) + 1);
  Planner planner(type, overrides, num_layers);
  for (ExportTensor& tensor : *tensors) planner.Plan(&tensor);
  return planner.CheckOverrides();
}

void PlanFloats(DType dtype, std::vector<ExportTensor>* tensors) {
  for (ExportTensor& tensor : *tensors) {
    const TensorUse use = UseOf(tensor);
    if (use == TensorUse::kExact || use == TensorUse::kInteger) continue;
    if (InfoOf(tensor.from).is_quantized) {
      tensor.reason = "quantised tensors keep their type";
    } else {
      tensor.to = dtype;
    }
  }
}

int FileTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kBF16:
      return 32;
    default:
      break;
  }
  const auto found = std::ranges::find(kTypes, dtype, &NamedType::base);
  return found == std::end(kTypes) ? 0 : found->file_type;
}

}  // namespace quern::models
