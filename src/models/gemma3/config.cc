#include "models/gemma3/config.h"

#include <cmath>

#include "models/json_fields.h"

namespace quern::models::gemma3 {
namespace {

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxPositions = 1 << 28;

// Two places: flat fields (older files) and rope_parameters by layer type (transformers 5).
Status ReadRope(const JsonFields& fields, Gemma3Config* config) {
  QUERN_ASSIGN_OR_RETURN(config->rope_global_theta, fields.FloatOr("rope_theta", 1, 1e12, 1e6));
  QUERN_ASSIGN_OR_RETURN(config->rope_local_theta, fields.FloatOr("rope_local_base_freq", 1, 1e12, 1e4));
  QUERN_ASSIGN_OR_RETURN(const Json* scaling, fields.Object("rope_scaling"));
  if (scaling != nullptr) {
    QUERN_ASSIGN_OR_RETURN(config->rope_global_factor,
                           JsonFields(*scaling, fields.where() + ": rope_scaling").FloatOr("factor", 1e-3, 1e6, 1));
  }
  QUERN_ASSIGN_OR_RETURN(const Json* all, fields.Object("rope_parameters"));
  if (all == nullptr) return {};
  const JsonFields by_type(*all, fields.where() + ": rope_parameters");
  QUERN_ASSIGN_OR_RETURN(const Json* full, by_type.Object("full_attention"));
  QUERN_ASSIGN_OR_RETURN(const Json* sliding, by_type.Object("sliding_attention"));
  if (full != nullptr) {
    const JsonFields entry(*full, by_type.where() + ": full_attention");
    QUERN_ASSIGN_OR_RETURN(config->rope_global_theta, entry.FloatOr("rope_theta", 1, 1e12, config->rope_global_theta));
    QUERN_ASSIGN_OR_RETURN(config->rope_global_factor, entry.FloatOr("factor", 1e-3, 1e6, config->rope_global_factor));
  }
  if (sliding != nullptr) {
    const JsonFields entry(*sliding, by_type.where() + ": sliding_attention");
    QUERN_ASSIGN_OR_RETURN(config->rope_local_theta, entry.FloatOr("rope_theta", 1, 1e12, config->rope_local_theta));
  }
  return {};
}

}  // namespace

Result<Gemma3Config> Gemma3Config::FromJson(const Json& root) {
  const JsonFields outer(root, "config.json");
  QUERN_ASSIGN_OR_RETURN(const Json* nested, outer.Object("text_config"));
  const JsonFields fields(nested != nullptr ? *nested : root,
                          nested != nullptr ? "config.json: text_config" : "config.json");
  Gemma3Config config;
  config.norm_offset = 1;
  QUERN_ASSIGN_OR_RETURN(config.num_layers, fields.NeedInt("num_hidden_layers", 1, kMaxLayers));
  QUERN_ASSIGN_OR_RETURN(config.vocab_size, fields.NeedInt("vocab_size", 1, 1 << 24));
  QUERN_ASSIGN_OR_RETURN(config.hidden_size, fields.NeedInt("hidden_size", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.num_heads, fields.NeedInt("num_attention_heads", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.num_kv_heads, fields.IntOr("num_key_value_heads", 1, kMaxWidth, config.num_heads));
  QUERN_ASSIGN_OR_RETURN(config.head_dim, fields.IntOr("head_dim", 2, kMaxWidth, 256));
  QUERN_ASSIGN_OR_RETURN(config.intermediate, fields.NeedInt("intermediate_size", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.context_limit, fields.IntOr("max_position_embeddings", 1, kMaxPositions, 32768));
  QUERN_ASSIGN_OR_RETURN(config.sliding_window, fields.NeedInt("sliding_window", 1, kMaxPositions));
  QUERN_ASSIGN_OR_RETURN(config.rms_eps, fields.FloatOr("rms_norm_eps", 0, 1, 1e-6));
  QUERN_ASSIGN_OR_RETURN(config.query_scalar, fields.FloatOr("query_pre_attn_scalar", 1e-6, 1e9, config.head_dim));
  QUERN_ASSIGN_OR_RETURN(config.final_softcap, fields.FloatOr("final_logit_softcapping", 0, 1e6, 0));
  QUERN_ASSIGN_OR_RETURN(config.full_period, fields.IntOr("sliding_window_pattern", 1, kMaxLayers, 6));
  QUERN_TRY(ReadRope(fields, &config));
  QUERN_ASSIGN_OR_RETURN(const auto types, fields.Strings("layer_types"));
  if (types) {
    if (static_cast<int>(types->size()) != config.num_layers) {
      return Fail(Code::kCorrupt, "{}: layer_types has {} entries for {} layers", fields.where(), types->size(),
                  config.num_layers);
    }
    for (int i = 0; i < config.num_layers; ++i) {
      if ((*types)[i] != (config.is_full(i) ? "full_attention" : "sliding_attention")) {
        return Fail(Code::kUnsupported, "{}: layer_types[{}] is \"{}\"; this build expects every {}th layer to be full",
                    fields.where(), i, (*types)[i], config.full_period);
      }
    }
  }
  QUERN_TRY(config.Validate());
  return config;
}

Result<Gemma3Config> Gemma3Config::FromGguf(const format::GgufFile& file) {
  const auto int_or = [&](std::string_view key, int64_t low, int64_t high,
                          std::optional<int64_t> fallback) -> Result<int64_t> {
    QUERN_ASSIGN_OR_RETURN(const auto value, file.GetInt(key));
    if (!value && fallback) return *fallback;
    if (!value) return Fail(Code::kCorrupt, "metadata {} is missing", key);
    if (*value < low || *value > high) {
      return Fail(Code::kCorrupt, "metadata {} is {}, expected {} to {}", key, *value, low, high);
    }
    return *value;
  };
  const auto float_or = [&](std::string_view key, double fallback) -> Result<double> {
    QUERN_ASSIGN_OR_RETURN(const auto value, file.GetFloat(key));
    if (value && !std::isfinite(*value)) return Fail(Code::kCorrupt, "metadata {} is not finite", key);
    return value.value_or(fallback);
  };
  Gemma3Config config;
  QUERN_ASSIGN_OR_RETURN(config.num_layers, int_or("gemma3.block_count", 1, kMaxLayers, {}));
  QUERN_ASSIGN_OR_RETURN(config.hidden_size, int_or("gemma3.embedding_length", 1, kMaxWidth, {}));
  QUERN_ASSIGN_OR_RETURN(config.intermediate, int_or("gemma3.feed_forward_length", 1, kMaxWidth, {}));
  QUERN_ASSIGN_OR_RETURN(config.num_heads, int_or("gemma3.attention.head_count", 1, kMaxWidth, {}));
  QUERN_ASSIGN_OR_RETURN(config.num_kv_heads, int_or("gemma3.attention.head_count_kv", 1, kMaxWidth, config.num_heads));
  QUERN_ASSIGN_OR_RETURN(config.head_dim, int_or("gemma3.attention.key_length", 2, kMaxWidth, 256));
  QUERN_ASSIGN_OR_RETURN(config.context_limit, int_or("gemma3.context_length", 1, kMaxPositions, {}));
  QUERN_ASSIGN_OR_RETURN(config.sliding_window, int_or("gemma3.attention.sliding_window", 1, kMaxPositions, {}));
  QUERN_ASSIGN_OR_RETURN(config.rms_eps, float_or("gemma3.attention.layer_norm_rms_epsilon", 1e-6));
  QUERN_ASSIGN_OR_RETURN(config.rope_global_theta, float_or("gemma3.rope.freq_base", 1e6));
  QUERN_ASSIGN_OR_RETURN(config.rope_local_theta, float_or("gemma3.rope.freq_base_swa", 1e4));
  QUERN_ASSIGN_OR_RETURN(config.rope_global_factor, float_or("gemma3.rope.scaling.factor", 1));
  QUERN_ASSIGN_OR_RETURN(config.final_softcap, float_or("gemma3.final_logit_softcapping", 0));
  // The 27B model (62 layers) scales by D / H instead of the head width; the file does not say so.
  config.query_scalar =
      config.num_layers == 62 ? static_cast<double>(config.hidden_size) / config.num_heads : config.head_dim;
  QUERN_TRY(config.Validate());
  return config;
}

Status Gemma3Config::Validate() const {
  if (head_dim % 8 != 0) return Fail(Code::kUnsupported, "head_dim is {}; it must be a multiple of 8", head_dim);
  if (num_heads % num_kv_heads != 0) {
    return Fail(Code::kCorrupt, "{} heads for {} K/V heads, which does not divide", num_heads, num_kv_heads);
  }
  if (!(rms_eps >= 0 && rms_eps <= 1) || !(final_softcap >= 0) || !(rope_global_factor > 0)) {
    return Fail(Code::kCorrupt, "rms eps {}, final softcap {} or rope factor {} is out of range", rms_eps,
                final_softcap, rope_global_factor);
  }
  return {};
}

}  // namespace quern::models::gemma3
