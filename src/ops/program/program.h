// Program: one forward step as a flat list of operations over values and weights. A model builds it once; executors of
// every backend run it again and again on new inputs. A step is a program, not a call tree: nothing in it needs the
// host.
//
// Values are f32 matrices [rows, width]. A value belongs to a row group: all T token rows of the step, or only the kept
// rows, whose logits somebody wants. A step without kept rows skips every operation on kept values: that is how prefill
// trims the layers that write no K/V.
// Building is single-threaded; a finished Program is immutable and shared.
//
// Letters: T token rows, D model width, H query heads, Hkv kv heads, Dh head width, F feed-forward width, V vocabulary,
// E experts, K inner width of a product, N its outer width.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/kv_view.h"
#include "tensor/tensor_view.h"

namespace quern::ops {

enum class RowGroup : uint8_t { kAll, kKept };

struct Value {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
};
struct Weight {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
};

struct ValueSpec {
  int64_t width = 0;
  RowGroup rows = RowGroup::kAll;
  bool is_output = false;  // stays readable after the step
};

// How a weight is used; decides how a backend prepares it.
enum class WeightUse : uint8_t {
  kVector,          // norm weights and scales: read as f32
  kMatrix,          // [N, K] or [E, N, K], operand of a product
  kTable,           // rows are gathered, never multiplied; stays where the file is
  kTableAndMatrix,  // the tied embedding: gathered by id and multiplied as the head
};

struct WeightSpec {
  std::string name;  // as the file spells it
  TensorView view;
  WeightUse use = WeightUse::kMatrix;
  float vector_offset = 0;  // added to every element of a kVector: 1 for norms stored as w where the formula has 1 + w
};

// Rotation angles of RoPE: pair i of Dh/2 rotates by position * inv_freq[i]; lanes i and i + Dh/2 form the pair.
struct RopeSpec {
  std::vector<float> inv_freq;  // size: number of rotated pairs, at most Dh/2; the others pass through
  int head_dim = 0;
};

// ---- Operations. `out` is written whole; in-place use is allowed only where stated. ----

// out[t] = scale * decode(table[ids[t]]).   table [V, width]
struct EmbedOp {
  Weight table;
  Value out;
  float scale = 1;
};

// out[r] = in[kept[r]]: from the all-rows group to the kept rows. The column range [begin, begin + out.width) is taken.
struct KeepRowsOp {
  Value in, out;
  int64_t begin = 0;
};

// Per group of `group_width` columns: out = in * (mean(in^2) + eps)^(-1/2) * weight (weight absent: 1). In place
// allowed.
struct RmsNormOp {
  Value in, out;
  Weight weight;  // [group_width] or invalid
  int64_t group_width = 0;
  float eps = 0;
};

// residual = (residual + norm_w(in)) * scale.   The end of every sublayer.
struct NormAddOp {
  Value in, residual;
  Weight weight;  // [width]
  float eps = 0;
  Weight scale;  // [1] or invalid (1): layer_scalar on the layer's last sublayer
};

// For each output: out = in * W^T * scale; outputs share the input (q, k and v), so activations are prepared once.
struct ProjectOp {
  struct Output {
    Weight weight;  // [N, K]
    Value out;      // [rows, N]
  };
  Value in;  // [rows, K]
  std::vector<Output> outputs;
  float scale = 1;
};

// out = gelu_tanh(in * Wg^T) * (in * Wu^T), elementwise product.
struct GatedProjectOp {
  Value in;         // [rows, K]
  Weight gate, up;  // [F, K] each
  Value out;        // [rows, F]
};

// value[:, h, :] = rope(norm_w(value[:, h, :])) in place; norm and rotation each optional.
struct HeadNormRopeOp {
  Value value;  // [rows, heads * head_dim]
  Weight norm;  // [head_dim]; invalid with normalize=true: weightless
  bool normalize = true;
  int rope = -1;  // index into Program::ropes, or -1
  int num_heads = 0;
  int head_dim = 0;
  float eps = 0;
};

// Stores k and v rows at their sequences' positions.
struct KvWriteOp {
  Value k, v;  // [T, Hkv * Dh]
  KvSlot slot;
};

// out = softmax(scale * q k^T + causal/window mask) v over the cache, which already holds this step's rows.
// Keys are visited in fixed chunks of 128 absolute positions, merged in increasing order, so the result depends on
// position and window only. Query head j reads kv head j / (H / Hkv).
struct AttentionOp {
  Value q, out;  // [rows, H * Dh]
  KvSlot slot;
  int num_heads = 0;
  float scale = 1;
};

// out = gelu_tanh(in) * other[:, begin : begin + width].   In place (out = in) allowed.
struct GeluMulOp {
  Value in, other, out;
  int64_t begin = 0;
};

// out = (a + b) * scale.   In place allowed.
struct AddOp {
  Value a, b, out;
  float scale = 1;
};

// Mixture of experts. Router: z = rms(residual) * scale_vector * D^(-1/2); P = softmax(Wr z); the top_k largest (ties:
// the lower index), renormalised, times per_expert_scale. f32 end to end. Experts: out = sum_j w_j * Wdown_j
// (gelu_tanh(Wg_j x) * (Wu_j x)), in increasing order of j's rank.
struct MoeOp {
  Value residual;           // [rows, D]: the router's input
  Value in;                 // [rows, D]: the experts' input
  Value out;                // [rows, D]
  Weight router;            // [E, D] F32
  Weight router_scale;      // [D]
  Weight per_expert_scale;  // [E]
  Weight gate_up;           // [E, 2F, D], gate first; or invalid, with the two below
  Weight gate, up;          // [E, F, D]
  Weight down;              // [E, D, F]
  int top_k = 0;
  float eps = 0;
};

// in = cap * tanh(in / cap), in place.
struct SoftcapOp {
  Value value;
  float cap = 0;
};

// out = in: keeps an intermediate that later operations overwrite (hidden states for tests and drafters).
struct CopyOp {
  Value in, out;
};

using Op = std::variant<EmbedOp, KeepRowsOp, RmsNormOp, NormAddOp, ProjectOp, GatedProjectOp, HeadNormRopeOp, KvWriteOp,
                        AttentionOp, GeluMulOp, AddOp, MoeOp, SoftcapOp, CopyOp>;

struct Program {
  std::vector<WeightSpec> weights;
  std::vector<ValueSpec> values;
  std::vector<RopeSpec> ropes;
  std::vector<Op> ops;
  KvSpec kv;
  Value logits;                 // [kept rows, V], after softcap
  Value hidden;                 // [kept rows, D], after the final norm: the head's input
  std::vector<Value> captures;  // with BuildOptions::capture_hidden: input of every layer, then the final norm's output
  int64_t vocab_size = 0;
};

// The values an operation reads and writes, for liveness, drawing and checks.
struct OpUses {
  std::vector<Value> reads, writes;  // a value updated in place is in both
};
OpUses UsesOf(const Op& op);
std::string_view NameOf(const Op& op);

// Convenience for models: creates values and weights and appends operations.
class ProgramBuilder {
 public:
  Value NewValue(int64_t width, RowGroup rows = RowGroup::kAll, bool is_output = false) {
    program_.values.push_back({width, rows, is_output});
    return Value{static_cast<int32_t>(program_.values.size()) - 1};
  }
  // The same tensor added twice gets one id; the uses are united.
  Weight AddWeight(std::string_view name, const TensorView& view, WeightUse use, float vector_offset = 0);
  int AddRope(RopeSpec rope) {
    program_.ropes.push_back(std::move(rope));
    return static_cast<int>(program_.ropes.size()) - 1;
  }
  void Append(Op op) { program_.ops.push_back(std::move(op)); }
  const ValueSpec& spec(Value value) const { return program_.values[value.id]; }
  Program& program() { return program_; }

  // Checks widths, row groups and weight shapes of every operation. A fault here is the model file's (its shapes reach
  // this point), so it is a Status that names operation and tensor.
  Result<Program> Finish() &&;

 private:
  Program program_;
};

}  // namespace quern::ops
