#include "models/gemma4/forward.h"

#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "models/weight_loader.h"

namespace quern::models::gemma4 {
namespace {

using ops::RowGroup;
using ops::Value;
using ops::Weight;

// Builds one program. Rows: h starts with all token rows; from `trim_layer` on only the kept rows go on, because no
// later layer writes K/V (shared tail), or because only the last layer's own K/V needed the others.
class StepBuilder {
 public:
  StepBuilder(const Gemma4Config& config, const TensorTable& tensors, const BuildOptions& options)
      : config_(config), tensors_(tensors), options_(options), weights_(tensors, &b_) {
    const int layers = config.num_layers();
    trim_layer_ = config.first_shared_layer < layers ? config.first_shared_layer : layers - 1;
  }

  Result<ops::Program> Build() {
    QUERN_TRY(PlanCache());
    QUERN_TRY(AddRopes());
    Embed();
    for (int layer = 0; layer < config_.num_layers(); ++layer) Layer(layer);
    Head();
    QUERN_TRY(weights_.status());
    return std::move(b_).Finish();
  }

 private:
  const LayerConfig& Cfg(int layer) const { return config_.layers[layer]; }
  static std::string Name(int layer, std::string_view suffix) { return fmt::format("blk.{}.{}.weight", layer, suffix); }
  Weight Matrix(int layer, std::string_view suffix) { return weights_.Matrix(Name(layer, suffix)); }
  Weight Vector(int layer, std::string_view suffix) { return weights_.Vector(Name(layer, suffix)); }
  RowGroup Rows(Value value) { return b_.spec(value).rows; }

  // Layers of equal geometry and window share a pool of pages.
  Status PlanCache() {
    std::map<std::tuple<int, int, int>, int> groups;
    slots_.resize(config_.num_layers());
    for (int layer = 0; layer < config_.num_layers(); ++layer) {
      const LayerConfig& c = Cfg(layer);
      if (!config_.owns_kv(layer)) {
        slots_[layer] = slots_[c.kv_donor];
        continue;
      }
      const int window = c.type == LayerType::kSliding ? config_.sliding_window : 0;
      std::vector<ops::KvGroupSpec>& specs = b_.program().kv.groups;
      const auto [found, is_new] =
          groups.try_emplace({c.num_kv_heads, c.head_dim, window}, static_cast<int>(specs.size()));
      if (is_new) specs.push_back({0, c.num_kv_heads, c.head_dim, window});
      slots_[layer] = {found->second, specs[found->second].num_layers++};
    }
    return {};
  }

  // One table per (type, head width). GGUF carries the rotated span of full layers in rope_freqs: 1 for a rotated pair,
  // 1e30 for one that passes through.
  Status AddRopes() {
    std::map<std::pair<LayerType, int>, int> known;
    for (const LayerConfig& c : config_.layers) {
      const auto [found, is_new] = known.try_emplace({c.type, c.head_dim}, 0);
      if (is_new) {
        std::vector<float> inv_freq =
            RopeInvFreq(c.type == LayerType::kFull ? config_.rope_full : config_.rope_sliding, c.head_dim);
        if (c.type == LayerType::kFull) QUERN_TRY(ApplyRopeFactors(c.head_dim, &inv_freq));
        found->second = b_.AddRope({std::move(inv_freq), c.head_dim});
      }
      ropes_.push_back(found->second);
    }
    return {};
  }

  Status ApplyRopeFactors(int head_dim, std::vector<float>* inv_freq) {
    const TensorView* factors = tensors_.Find("rope_freqs.weight");
    if (factors == nullptr) return {};
    if (factors->dtype != DType::kF32 || factors->shape != Shape{head_dim / 2}) {
      return Fail(Code::kCorrupt, "rope_freqs.weight is {} {}, expected F32 [{}]", NameOf(factors->dtype),
                  factors->shape.ToString(), head_dim / 2);
    }
    constexpr float kPassThrough = 1e20f;
    RopeConfig all_pairs = config_.rope_full;
    all_pairs.partial_rotary_factor = 1;
    *inv_freq = RopeInvFreq(all_pairs, head_dim);
    size_t rotated = 0;
    for (size_t i = 0; i < inv_freq->size(); ++i) {
      float factor = 0;
      std::memcpy(&factor, factors->data + i * sizeof(float), sizeof(float));
      if (!(factor > 0)) return Fail(Code::kCorrupt, "rope_freqs.weight[{}] is {}", i, factor);
      if (factor < kPassThrough) rotated = i + 1;
      (*inv_freq)[i] = factor < kPassThrough ? (*inv_freq)[i] / factor : 0.0f;
    }
    inv_freq->resize(rotated);
    return {};
  }

  void Embed() {
    const float root_d = std::sqrt(static_cast<float>(config_.hidden_size));
    h_ = b_.NewValue(config_.hidden_size);
    b_.Append(ops::EmbedOp{weights_.Table("token_embd.weight"), h_, root_d});
    if (config_.ple_width == 0) return;
    // ple = (norm(W_pmp h0 / sqrt(D)) + sqrt(P) T) / sqrt(2), [T, L * P], the norm over each P
    const int64_t width = int64_t{config_.num_layers()} * config_.ple_width;
    const Value table = b_.NewValue(width);
    ple_ = b_.NewValue(width);
    b_.Append(ops::EmbedOp{weights_.Table("per_layer_token_embd.weight"), table,
                           std::sqrt(static_cast<float>(config_.ple_width))});
    b_.Append(ops::ProjectOp{h_, {{weights_.Matrix("per_layer_model_proj.weight"), ple_}}, 1.0f / root_d});
    b_.Append(
        ops::RmsNormOp{ple_, ple_, weights_.Vector("per_layer_proj_norm.weight"), config_.ple_width, config_.rms_eps});
    b_.Append(ops::AddOp{ple_, table, ple_, std::sqrt(0.5f)});
  }

  void Layer(int layer) {
    if (layer == config_.first_shared_layer) KeepRows(layer);
    Capture(h_);
    Attention(layer);
    if (config_.num_experts > 0) {
      MoeFeedForward(layer);
    } else {
      DenseFeedForward(layer);
    }
    if (config_.ple_width > 0) PerLayerInput(layer);
  }

  // From here on only the kept rows: the residual stream and the per-layer inputs of the layers that are left.
  void KeepRows(int layer) {
    const Value kept = b_.NewValue(config_.hidden_size, RowGroup::kKept);
    b_.Append(ops::KeepRowsOp{h_, kept});
    h_ = kept;
    if (!ple_.valid()) return;
    const int64_t begin = int64_t{layer} * config_.ple_width;
    const Value ple = b_.NewValue(b_.spec(ple_).width - begin, RowGroup::kKept);
    b_.Append(ops::KeepRowsOp{ple_, ple, begin});
    ple_ = ple;
    ple_begin_layer_ = layer;
  }

  Value Norm(Value in, Weight weight) {
    const Value out = b_.NewValue(b_.spec(in).width, Rows(in));
    b_.Append(ops::RmsNormOp{in, out, weight, b_.spec(in).width, config_.rms_eps});
    return out;
  }

  Value Project(Value in, Weight weight, int64_t width) {
    const Value out = b_.NewValue(width, Rows(in));
    b_.Append(ops::ProjectOp{in, {{weight, out}}});
    return out;
  }

  void Attention(int layer) {
    const LayerConfig& c = Cfg(layer);
    const int64_t q_width = int64_t{config_.num_heads} * c.head_dim, kv_width = int64_t{c.num_kv_heads} * c.head_dim;
    Value a = Norm(h_, Vector(layer, "attn_norm"));
    ops::ProjectOp project{a, {}};
    Value q, k, v;
    if (config_.owns_kv(layer)) {
      k = b_.NewValue(kv_width);
      v = b_.NewValue(kv_width);
      const bool takes_v_from_k = config_.k_eq_v && c.type == LayerType::kFull;
      project.outputs.push_back({Matrix(layer, "attn_k"), k});
      if (!takes_v_from_k) project.outputs.push_back({Matrix(layer, "attn_v"), v});
      // The last layer of a model without a shared tail: K and V of all rows, the rest only of the kept ones.
      const bool trims_here = layer == trim_layer_ && trim_layer_ != config_.first_shared_layer;
      if (!trims_here) {
        q = b_.NewValue(q_width);
        project.outputs.insert(project.outputs.begin(), {Matrix(layer, "attn_q"), q});
      }
      b_.Append(project);
      if (trims_here) {
        KeepRows(layer);
        const Value kept = b_.NewValue(config_.hidden_size, RowGroup::kKept);
        b_.Append(ops::KeepRowsOp{a, kept});
        q = Project(kept, Matrix(layer, "attn_q"), q_width);
      }
      if (takes_v_from_k) b_.Append(ops::CopyOp{k, v});  // the raw projection, before norm and rotation
      HeadNormRope(k, Vector(layer, "attn_k_norm"), ropes_[layer], c.num_kv_heads, c.head_dim);
      HeadNormRope(v, {}, -1, c.num_kv_heads, c.head_dim);
      b_.Append(ops::KvWriteOp{k, v, slots_[layer]});
    } else {
      q = Project(a, Matrix(layer, "attn_q"), q_width);
    }
    HeadNormRope(q, Vector(layer, "attn_q_norm"), ropes_[layer], config_.num_heads, c.head_dim);
    const Value o = b_.NewValue(q_width, Rows(q));
    b_.Append(ops::AttentionOp{q, o, slots_[layer], config_.num_heads, 1.0f});
    const Value out = Project(o, Matrix(layer, "attn_output"), config_.hidden_size);
    b_.Append(ops::NormAddOp{out, h_, Vector(layer, "post_attention_norm"), config_.rms_eps, {}});
  }

  void HeadNormRope(Value value, Weight norm, int rope, int heads, int head_dim) {
    b_.Append(ops::HeadNormRopeOp{value, norm, true, rope, heads, head_dim, config_.rms_eps});
  }

  // Wdown (gelu(Wgate n) * (Wup n)), n = norm(h)
  Value DenseMlp(int layer) {
    const Value n = Norm(h_, Vector(layer, "ffn_norm"));
    const Value f = b_.NewValue(Cfg(layer).intermediate, Rows(n));
    b_.Append(ops::GatedProjectOp{n, Matrix(layer, "ffn_gate"), Matrix(layer, "ffn_up"), f});
    return Project(f, Matrix(layer, "ffn_down"), config_.hidden_size);
  }

  void DenseFeedForward(int layer) { EndSublayer(layer, DenseMlp(layer), "post_ffw_norm", config_.ple_width == 0); }

  // The dense MLP and the experts run in parallel on the same residual stream; the router reads it un-normed.
  void MoeFeedForward(int layer) {
    const Value dense = DenseMlp(layer);
    b_.Append(ops::RmsNormOp{dense, dense, Vector(layer, "post_ffw_norm_1"), config_.hidden_size, config_.rms_eps});
    ops::MoeOp moe;
    moe.residual = h_;
    moe.in = Norm(h_, Vector(layer, "pre_ffw_norm_2"));
    moe.out = b_.NewValue(config_.hidden_size, Rows(h_));
    moe.router = Matrix(layer, "ffn_gate_inp");
    moe.router_scale = weights_.Vector(fmt::format("blk.{}.ffn_gate_inp.scale", layer));
    moe.per_expert_scale = weights_.Vector(fmt::format("blk.{}.ffn_down_exps.scale", layer));
    if (weights_.Has(Name(layer, "ffn_gate_up_exps"))) {
      moe.gate_up = Matrix(layer, "ffn_gate_up_exps");
    } else {
      moe.gate = Matrix(layer, "ffn_gate_exps");
      moe.up = Matrix(layer, "ffn_up_exps");
    }
    moe.down = Matrix(layer, "ffn_down_exps");
    moe.top_k = config_.top_k_experts;
    moe.eps = config_.rms_eps;
    b_.Append(moe);
    b_.Append(ops::RmsNormOp{moe.out, moe.out, Vector(layer, "post_ffw_norm_2"), config_.hidden_size, config_.rms_eps});
    b_.Append(ops::AddOp{dense, moe.out, dense});
    EndSublayer(layer, dense, "post_ffw_norm", config_.ple_width == 0);
  }

  // h += norm(Wproj (gelu(Wgate h) * ple[layer]))
  void PerLayerInput(int layer) {
    const Value g = Project(h_, Matrix(layer, "inp_gate"), config_.ple_width);
    b_.Append(ops::GeluMulOp{g, ple_, g, int64_t{layer - ple_begin_layer_} * config_.ple_width});
    EndSublayer(layer, Project(g, Matrix(layer, "proj"), config_.hidden_size), "post_norm", true);
  }

  // h = h + norm(x); the layer's last sublayer also multiplies the whole stream by layer_scalar (missing: 1).
  void EndSublayer(int layer, Value x, std::string_view norm, bool is_last) {
    const Weight scale = is_last ? weights_.OptionalVector(Name(layer, "layer_output_scale")) : Weight{};
    b_.Append(ops::NormAddOp{x, h_, Vector(layer, norm), config_.rms_eps, scale});
  }

  void Head() {
    ops::Program& program = b_.program();
    const char* head = weights_.Has("output.weight") ? "output.weight" : "token_embd.weight";
    const TensorView* embedding = tensors_.Find("token_embd.weight");
    program.vocab_size = embedding != nullptr ? embedding->shape[0] : 0;
    program.hidden = b_.NewValue(config_.hidden_size, RowGroup::kKept, true);
    b_.Append(ops::RmsNormOp{h_, program.hidden, weights_.Vector("output_norm.weight"), config_.hidden_size,
                             config_.rms_eps});
    Capture(program.hidden);
    program.logits = b_.NewValue(program.vocab_size, RowGroup::kKept, true);
    b_.Append(ops::ProjectOp{program.hidden, {{weights_.Matrix(head), program.logits}}});
    if (config_.final_softcap > 0) b_.Append(ops::SoftcapOp{program.logits, config_.final_softcap});
  }

  void Capture(Value value) {
    if (!options_.capture_hidden) return;
    const Value copy = b_.NewValue(b_.spec(value).width, Rows(value), true);
    b_.Append(ops::CopyOp{value, copy});
    b_.program().captures.push_back(copy);
  }

  const Gemma4Config& config_;
  const TensorTable& tensors_;
  const BuildOptions options_;
  ops::ProgramBuilder b_;
  WeightLoader weights_;
  int trim_layer_ = 0;
  std::vector<ops::KvSlot> slots_;  // by layer; a sharing layer has its donor's
  std::vector<int> ropes_;          // by layer
  Value h_;                         // [rows, D] the residual stream
  Value ple_;                       // [rows, (L - ple_begin_layer) * P]
  int ple_begin_layer_ = 0;
};

class Gemma4Decoder final : public Decoder {
 public:
  Gemma4Decoder(Gemma4Config config, const TensorTable& tensors, int64_t vocab_size)
      : config_(std::move(config)), tensors_(tensors) {
    info_.architecture = "gemma4";
    info_.num_layers = config_.num_layers();
    info_.hidden_size = config_.hidden_size;
    info_.vocab_size = vocab_size;
    info_.context_limit = config_.context_limit;
    info_.sliding_window = config_.sliding_window;
  }
  const DecoderInfo& info() const override { return info_; }
  Result<ops::Program> BuildProgram(const BuildOptions& options) const override {
    return StepBuilder(config_, tensors_, options).Build();
  }

 private:
  Gemma4Config config_;
  const TensorTable& tensors_;
  DecoderInfo info_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> MakeGemma4(Gemma4Config config, const TensorTable& tensors) {
  const TensorView* embedding = tensors.Find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.rank() != 2) {
    return Fail(Code::kCorrupt,
                "the token embedding (token_embd.weight, embed_tokens.weight) is missing or not a matrix");
  }
  const int64_t vocab_size = embedding->shape[0];
  if (config.vocab_size != 0 && config.vocab_size != vocab_size) {
    return Fail(Code::kCorrupt, "vocab_size is {}, but the token embedding has {} rows", config.vocab_size, vocab_size);
  }
  // Without experts in the tensors, or with them but no count, the file contradicts itself.
  const bool has_experts = tensors.Find("blk.0.ffn_gate_inp.weight") != nullptr;
  if (has_experts != (config.num_experts > 0)) {
    return Fail(Code::kCorrupt, "{} experts by the metadata, but the file {} a router", config.num_experts,
                has_experts ? "has" : "lacks");
  }
  return std::make_unique<Gemma4Decoder>(std::move(config), tensors, vocab_size);
}

}  // namespace quern::models::gemma4
