#include "models/gemma3/hf_config.h"

namespace quern::models::gemma3 {

OrderedJson ToHfConfig(const Gemma3Config& config, int64_t vocab_size) {
  OrderedJson json;
  json["architectures"] = {"Gemma3ForCausalLM"};
  json["model_type"] = "gemma3_text";
  json["vocab_size"] = vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_layers;
  json["num_attention_heads"] = config.num_heads;
  json["num_key_value_heads"] = config.num_kv_heads;
  json["head_dim"] = config.head_dim;
  json["intermediate_size"] = config.intermediate;
  json["sliding_window"] = config.sliding_window;
  json["sliding_window_pattern"] = config.full_period;
  json["max_position_embeddings"] = config.context_limit;
  json["rms_norm_eps"] = config.rms_eps;
  json["query_pre_attn_scalar"] = config.query_scalar;
  json["rope_theta"] = config.rope_global_theta;
  json["rope_local_base_freq"] = config.rope_local_theta;
  json["rope_scaling"] = config.rope_global_factor == 1
                             ? OrderedJson()
                             : OrderedJson{{"factor", config.rope_global_factor}, {"rope_type", "linear"}};
  json["hidden_activation"] = "gelu_pytorch_tanh";
  json["final_logit_softcapping"] = config.final_softcap > 0 ? OrderedJson(config.final_softcap) : OrderedJson();
  json["tie_word_embeddings"] = true;
  for (int i = 0; i < config.num_layers; ++i) {
    json["layer_types"].push_back(config.is_full(i) ? "full_attention" : "sliding_attention");
  }
  return json;
}

}  // namespace quern::models::gemma3
