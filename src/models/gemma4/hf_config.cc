#include "models/gemma4/hf_config.h"

#include <algorithm>

namespace quern::models::gemma4 {
namespace {

const LayerConfig* FirstOf(const Gemma4Config& config, LayerType type) {
  const auto found = std::ranges::find(config.layers, type, &LayerConfig::type);
  return found == config.layers.end() ? nullptr : &*found;
}

// Whether the widths are those of the flag use_double_wide_mlp; Unsupported when neither value of the flag gives them.
Result<bool> IsDoubleWide(const Gemma4Config& config) {
  const int64_t width = config.layers.front().intermediate;
  const bool has_tail = config.first_shared_layer < config.num_layers();
  const bool is_double = has_tail && config.layers.back().intermediate == 2 * width;
  for (int i = 0; i < config.num_layers(); ++i) {
    const int64_t expected = is_double && i >= config.first_shared_layer ? 2 * width : width;
    if (config.layers[i].intermediate != expected) {
      return Fail(Code::kUnsupported, "layer {} is {} wide, but config.json can only say {}", i,
                  config.layers[i].intermediate, expected);
    }
  }
  return is_double;
}

OrderedJson Rope(const RopeConfig& rope, bool is_proportional) {
  OrderedJson json;
  if (is_proportional) json["partial_rotary_factor"] = rope.partial_rotary_factor;
  json["rope_theta"] = rope.theta;
  json["rope_type"] = is_proportional ? "proportional" : "default";
  if (rope.factor != 1) json["factor"] = rope.factor;
  return json;
}

}  // namespace

Result<OrderedJson> ToHfConfig(const Gemma4Config& config, int64_t vocab_size) {
  QUERN_ASSIGN_OR_RETURN(const bool is_double_wide, IsDoubleWide(config));
  const LayerConfig* full = FirstOf(config, LayerType::kFull);
  const LayerConfig* sliding = FirstOf(config, LayerType::kSliding);
  const LayerConfig& base = sliding != nullptr ? *sliding : *full;
  if (full != nullptr && !config.k_eq_v && full->num_kv_heads != base.num_kv_heads) {
    return Fail(Code::kUnsupported, "full layers have {} K/V heads and sliding ones {}, but own V projections",
                full->num_kv_heads, base.num_kv_heads);
  }
  OrderedJson json;
  json["architectures"] = {"Gemma4ForCausalLM"};
  json["model_type"] = "gemma4_text";
  json["vocab_size"] = vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_layers();
  json["num_attention_heads"] = config.num_heads;
  json["num_key_value_heads"] = base.num_kv_heads;
  json["head_dim"] = base.head_dim;
  if (full != nullptr) json["global_head_dim"] = full->head_dim;
  json["num_global_key_value_heads"] =
      full != nullptr && config.k_eq_v ? OrderedJson(full->num_kv_heads) : OrderedJson();
  json["attention_k_eq_v"] = config.k_eq_v;
  json["attention_bias"] = false;
  json["intermediate_size"] = config.layers.front().intermediate;
  json["use_double_wide_mlp"] = is_double_wide;
  json["num_kv_shared_layers"] = config.num_layers() - config.first_shared_layer;
  json["hidden_size_per_layer_input"] = config.ple_width;
  if (config.ple_width > 0) json["vocab_size_per_layer_input"] = vocab_size;
  json["enable_moe_block"] = config.num_experts > 0;
  if (config.num_experts > 0) {
    json["num_experts"] = config.num_experts;
    json["top_k_experts"] = config.top_k_experts;
    json["moe_intermediate_size"] = config.expert_intermediate;
  }
  json["sliding_window"] = config.sliding_window;
  json["max_position_embeddings"] = config.context_limit;
  json["rms_norm_eps"] = config.rms_eps;
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["final_logit_softcapping"] = config.final_softcap > 0 ? OrderedJson(config.final_softcap) : OrderedJson();
  json["tie_word_embeddings"] = true;
  json["rope_parameters"]["full_attention"] = Rope(config.rope_full, true);
  json["rope_parameters"]["sliding_attention"] = Rope(config.rope_sliding, false);
  for (const LayerConfig& layer : config.layers) {
    json["layer_types"].push_back(layer.type == LayerType::kFull ? "full_attention" : "sliding_attention");
  }
  return json;
}

}  // namespace quern::models::gemma4
