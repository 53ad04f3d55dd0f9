// What a converted file will hold: its tensors in order, each with the parts of the source that it is made of. Types
// are planned by quantize_plan.h; writing is the engine's business.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "format/gguf_writer.h"
#include "format/vocabulary.h"
#include "models/checkpoint.h"

namespace quern::models {

struct ExportTensor {
  std::string name;       // as the destination spells it
  std::string canonical;  // GGUF's name: decides the rules
  Shape shape;
  DType from = DType::kF32, to = DType::kF32;
  std::string reason;  // why `to` is not the type asked for; may be empty
  // The source: tensors concatenated along the second last axis (split gate and up experts that one format fuses), or
  // one tensor, or values made here. Views point into the checkpoint, which must outlive the list.
  std::vector<TensorView> parts;
  std::vector<float> generated;
  float offset = 0;  // added to every element: Gemma 3 norms, w in safetensors and 1 + w in GGUF

  int64_t row_elems() const { return shape.back(); }
  int64_t num_rows() const { return row_elems() == 0 ? 0 : shape.num_elems() / row_elems(); }
  int64_t bytes_before() const;
  int64_t bytes_after() const { return num_rows() * TensorView::RowBytes(to, row_elems()); }
};

// The tensors of a GGUF file of this checkpoint, embedding first, then layer by layer. `to` is the type that the format
// demands: F32 for vectors, the router and rope_freqs.weight (which is made when the checkpoint has none), else `from`.
Result<std::vector<ExportTensor>> ListGgufTensors(const Checkpoint& checkpoint);

// The tensors of model.safetensors, larger elements first. `to` is `from`, or `decoded` for a quantised tensor; it is
// set finally by `dtype` when given. Unsupported for a tensor that has no Hugging Face name.
Result<std::vector<ExportTensor>> ListSafetensors(const Checkpoint& checkpoint, DType decoded,
                                                  std::optional<DType> dtype);

// The architecture's keys, name, sampling defaults and tokenizer of a GGUF file; of a checkpoint that is GGUF itself,
// all its keys but those about types, alignment and quantisation.
Status WriteGgufMetadata(const Checkpoint& checkpoint, format::GgufWriter* writer);

// The JSON documents and the tokenizer beside model.safetensors. dtype_name: "bfloat16", as transformers spells it.
Status WriteHfDocuments(const Checkpoint& checkpoint, const std::filesystem::path& folder, std::string_view dtype_name);

}  // namespace quern::models
