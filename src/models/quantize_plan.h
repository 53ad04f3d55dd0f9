// Which type each tensor of a converted file gets, and why. The rules are those of docs/quantization.md; a tensor that
// does not get the type asked for carries the reason. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "models/tensor_export.h"

namespace quern::models {

// What a tensor is for, as far as its type is concerned.
enum class TensorUse : uint8_t {
  kExact,      // vectors, the router, rope factors: F32 always
  kHalf,       // per_layer_model_proj: 16 bits or more, never quantised
  kEmbedding,  // token_embd, output, per_layer_token_embd: one row stands for a token, errors there are seen by all
               // layers
  kMatrix,
  kInteger,  // carried, never converted
};
TensorUse UseOf(const ExportTensor& tensor);

// A name that `quantize --type` takes: a type of tensor/dtype.h, or a mix ("Q4_K_M") that gives more bits to some
// tensors.
struct QuantizeType {
  std::string name;
  DType base = DType::kQ4_0;
  std::optional<DType> raised;  // attn_v and ffn_down of the layers that matter most
  int file_type = 0;            // general.file_type, as llama.cpp numbers them
};
// InvalidArgument with the list of names.
Result<QuantizeType> ParseQuantizeType(std::string_view name);
std::vector<std::string> QuantizeTypeNames();

// Glob over canonical names ('*' and '?'), type; later ones win over earlier ones and over the rules about size, not
// over what a tensor needs (F32, 16 bits, block shape).
using TypeOverride = std::pair<std::string, DType>;

// Sets `to` and `reason`. InvalidArgument for a glob that matches no tensor.
Status PlanQuantization(const QuantizeType& type, const std::vector<TypeOverride>& overrides,
                        std::vector<ExportTensor>* tensors);

// Float conversion: unquantised matrices become `dtype`; everything else keeps what it has.
void PlanFloats(DType dtype, std::vector<ExportTensor>* tensors);

// general.file_type of a file whose matrices are `dtype` (the mix's own number is in QuantizeType).
int FileTypeOf(DType dtype);

}  // namespace quern::models
