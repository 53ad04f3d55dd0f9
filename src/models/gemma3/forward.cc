#include "models/gemma3/forward.h"

#include <cmath>

#include "models/weight_loader.h"

namespace quern::models::gemma3 {
namespace {

using ops::RowGroup;
using ops::Value;
using ops::Weight;

std::vector<float> InvFreq(double theta, double factor, int head_dim) {
  std::vector<float> inv_freq(head_dim / 2);
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    inv_freq[i] = static_cast<float>(std::pow(theta, -2.0 * static_cast<double>(i) / head_dim) / factor);
  }
  return inv_freq;
}

class StepBuilder {
 public:
  StepBuilder(const Gemma3Config& config, const TensorTable& tensors, const BuildOptions& options)
      : config_(config), tensors_(tensors), options_(options), weights_(tensors, &b_) {}

  Result<ops::Program> Build() {
    PlanCache();
    local_rope_ = b_.AddRope({InvFreq(config_.rope_local_theta, 1, config_.head_dim), config_.head_dim});
    global_rope_ = b_.AddRope(
        {InvFreq(config_.rope_global_theta, config_.rope_global_factor, config_.head_dim), config_.head_dim});
    h_ = b_.NewValue(config_.hidden_size);
    b_.Append(
        ops::EmbedOp{weights_.Table("token_embd.weight"), h_, std::sqrt(static_cast<float>(config_.hidden_size))});
    for (int layer = 0; layer < config_.num_layers; ++layer) {
      Capture(h_);
      Attention(layer);
      FeedForward(layer);
    }
    Head();
    QUERN_TRY(weights_.status());
    return std::move(b_).Finish();
  }

 private:
  Weight Matrix(int layer, std::string_view suffix) {
    return weights_.Matrix(fmt::format("blk.{}.{}.weight", layer, suffix));
  }
  Weight NormWeight(int layer, std::string_view suffix) {
    return weights_.Vector(fmt::format("blk.{}.{}.weight", layer, suffix), config_.norm_offset);
  }

  void PlanCache() {
    std::vector<ops::KvGroupSpec>& groups = b_.program().kv.groups;
    int sliding = -1, full = -1;
    for (int layer = 0; layer < config_.num_layers; ++layer) {
      int& group = config_.is_full(layer) ? full : sliding;
      if (group < 0) {
        group = static_cast<int>(groups.size());
        groups.push_back(
            {0, config_.num_kv_heads, config_.head_dim, config_.is_full(layer) ? 0 : config_.sliding_window});
      }
      slots_.push_back({group, groups[group].num_layers++});
    }
  }

  Value Norm(Value in, Weight weight) {
    const Value out = b_.NewValue(b_.spec(in).width, b_.spec(in).rows);
    b_.Append(ops::RmsNormOp{in, out, weight, b_.spec(in).width, config_.rms_eps});
    return out;
  }

  void Attention(int layer) {
    const int64_t q_width = int64_t{config_.num_heads} * config_.head_dim,
                  kv_width = int64_t{config_.num_kv_heads} * config_.head_dim;
    const int rope = config_.is_full(layer) ? global_rope_ : local_rope_;
    Value a = Norm(h_, NormWeight(layer, "attn_norm"));
    const Value k = b_.NewValue(kv_width), v = b_.NewValue(kv_width);
    b_.Append(ops::ProjectOp{a, {{Matrix(layer, "attn_k"), k}, {Matrix(layer, "attn_v"), v}}});
    b_.Append(ops::HeadNormRopeOp{k, NormWeight(layer, "attn_k_norm"), true, rope, config_.num_kv_heads,
                                  config_.head_dim, config_.rms_eps});
    b_.Append(ops::KvWriteOp{k, v, slots_[layer]});
    if (layer == config_.num_layers - 1) {  // only K and V of the last layer need every row
      a = Keep(a);
      h_ = Keep(h_);
    }
    const Value q = b_.NewValue(q_width, b_.spec(a).rows);
    b_.Append(ops::ProjectOp{a, {{Matrix(layer, "attn_q"), q}}});
    b_.Append(ops::HeadNormRopeOp{q, NormWeight(layer, "attn_q_norm"), true, rope, config_.num_heads, config_.head_dim,
                                  config_.rms_eps});
    const Value o = b_.NewValue(q_width, b_.spec(a).rows);
    const float scale = static_cast<float>(1.0 / std::sqrt(config_.query_scalar));
    b_.Append(ops::AttentionOp{q, o, slots_[layer], config_.num_heads, scale});
    EndSublayer(o, Matrix(layer, "attn_output"), NormWeight(layer, "post_attention_norm"));
  }

  void FeedForward(int layer) {
    const Value n = Norm(h_, NormWeight(layer, "ffn_norm"));
    const Value f = b_.NewValue(config_.intermediate, b_.spec(n).rows);
    b_.Append(ops::GatedProjectOp{n, Matrix(layer, "ffn_gate"), Matrix(layer, "ffn_up"), f});
    EndSublayer(f, Matrix(layer, "ffn_down"), NormWeight(layer, "post_ffw_norm"));
  }

  // h = h + norm(W x)
  void EndSublayer(Value x, Weight weight, Weight norm) {
    const Value y = b_.NewValue(config_.hidden_size, b_.spec(x).rows);
    b_.Append(ops::ProjectOp{x, {{weight, y}}});
    b_.Append(ops::NormAddOp{y, h_, norm, config_.rms_eps, {}});
  }

  Value Keep(Value in) {
    const Value kept = b_.NewValue(b_.spec(in).width, RowGroup::kKept);
    b_.Append(ops::KeepRowsOp{in, kept});
    return kept;
  }

  void Head() {
    ops::Program& program = b_.program();
    program.vocab_size = tensors_.Find("token_embd.weight")->shape[0];
    program.hidden = b_.NewValue(config_.hidden_size, RowGroup::kKept, true);
    b_.Append(ops::RmsNormOp{h_, program.hidden, weights_.Vector("output_norm.weight", config_.norm_offset),
                             config_.hidden_size, config_.rms_eps});
    Capture(program.hidden);
    program.logits = b_.NewValue(program.vocab_size, RowGroup::kKept, true);
    const char* head = weights_.Has("output.weight") ? "output.weight" : "token_embd.weight";
    b_.Append(ops::ProjectOp{program.hidden, {{weights_.Matrix(head), program.logits}}});
    if (config_.final_softcap > 0) b_.Append(ops::SoftcapOp{program.logits, config_.final_softcap});
  }

  void Capture(Value value) {
    if (!options_.capture_hidden) return;
    const Value copy = b_.NewValue(b_.spec(value).width, b_.spec(value).rows, true);
    b_.Append(ops::CopyOp{value, copy});
    b_.program().captures.push_back(copy);
  }

  const Gemma3Config& config_;
  const TensorTable& tensors_;
  const BuildOptions options_;
  ops::ProgramBuilder b_;
  WeightLoader weights_;
  std::vector<ops::KvSlot> slots_;  // by layer
  int local_rope_ = 0, global_rope_ = 0;
  Value h_;  // [rows, D] the residual stream
};

class Gemma3Decoder final : public Decoder {
 public:
  Gemma3Decoder(const Gemma3Config& config, const TensorTable& tensors, int64_t vocab_size)
      : config_(config), tensors_(tensors) {
    info_ = {"gemma3", config.num_layers, config.hidden_size, vocab_size, config.context_limit, config.sliding_window};
  }
  const DecoderInfo& info() const override { return info_; }
  Result<ops::Program> BuildProgram(const BuildOptions& options) const override {
    return StepBuilder(config_, tensors_, options).Build();
  }

 private:
  Gemma3Config config_;
  const TensorTable& tensors_;
  DecoderInfo info_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> MakeGemma3(Gemma3Config config, const TensorTable& tensors) {
  const TensorView* embedding = tensors.Find("token_embd.weight");
  if (embedding == nullptr || embedding->shape.rank() != 2) {
    return Fail(Code::kCorrupt,
                "the token embedding (token_embd.weight, embed_tokens.weight) is missing or not a matrix");
  }
  const int64_t vocab_size = embedding->shape[0];
  if (config.vocab_size != 0 && config.vocab_size > vocab_size) {
    return Fail(Code::kCorrupt, "vocab_size is {}, but the token embedding has {} rows", config.vocab_size, vocab_size);
  }
  return std::make_unique<Gemma3Decoder>(config, tensors, vocab_size);
}

}  // namespace quern::models::gemma3
