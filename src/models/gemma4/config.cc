#include "models/gemma4/config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "models/json_fields.h"

namespace quern::models::gemma4 {
namespace {

// Larger than any published model by far, small enough that products of two stay far from overflow.
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxPositions = 1 << 28;
constexpr int64_t kMaxVocab = 1 << 24;

struct LayerOverride {
  std::optional<int64_t> head_dim, num_kv_heads;
};

// per_layer_config: {"05": {"head_dim": 512, "num_key_value_heads": 2}}; keys are decimal, perhaps padded with zeros.
Result<std::map<int64_t, LayerOverride>> ReadOverrides(const JsonFields& fields, int64_t num_layers) {
  std::map<int64_t, LayerOverride> overrides;
  QUERN_ASSIGN_OR_RETURN(const Json* object, fields.Object("per_layer_config"));
  if (object == nullptr) return overrides;
  for (const auto& [key, value] : object->items()) {
    int64_t layer = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (error != std::errc() || end != key.data() + key.size() || layer < 0 || layer >= num_layers) {
      return Fail(Code::kCorrupt, "{}: per_layer_config has the key \"{}\", expected a layer from 0 to {}",
                  fields.where(), key, num_layers - 1);
    }
    const JsonFields entry(value, fmt::format("{}: per_layer_config \"{}\"", fields.where(), key));
    if (!value.is_object()) return Fail(Code::kCorrupt, "{} is not an object", entry.where());
    for (const auto& [name, ignored] : value.items()) {
      if (name != "head_dim" && name != "num_key_value_heads") {
        return Fail(Code::kUnsupported, "{} overrides \"{}\", which this build does not know", entry.where(), name);
      }
    }
    if (overrides.contains(layer)) return Fail(Code::kCorrupt, "{} occurs twice", entry.where());
    QUERN_ASSIGN_OR_RETURN(overrides[layer].head_dim, entry.Int("head_dim", 2, kMaxWidth));
    QUERN_ASSIGN_OR_RETURN(overrides[layer].num_kv_heads, entry.Int("num_key_value_heads", 1, kMaxWidth));
  }
  return overrides;
}

Result<RopeConfig> ReadRope(const JsonFields& fields, std::string_view layer_type, double default_theta) {
  RopeConfig rope;
  rope.theta = default_theta;
  QUERN_ASSIGN_OR_RETURN(const Json* all, fields.Object("rope_parameters"));
  if (all == nullptr) {
    if (layer_type == "full_attention") rope.partial_rotary_factor = 0.25;
    return rope;
  }
  const JsonFields by_type(*all, fields.where() + ": rope_parameters");
  QUERN_ASSIGN_OR_RETURN(const Json* one, by_type.Object(layer_type));
  if (one == nullptr) return Fail(Code::kCorrupt, "{} has no \"{}\"", by_type.where(), layer_type);
  const JsonFields entry(*one, fmt::format("{}: {}", by_type.where(), layer_type));
  QUERN_ASSIGN_OR_RETURN(const auto type, entry.String("rope_type"));
  const std::string rope_type = type.value_or("default");
  if (rope_type != "default" && rope_type != "proportional") {
    return Fail(Code::kUnsupported, "{}: rope_type \"{}\"; this build knows default and proportional", entry.where(),
                rope_type);
  }
  QUERN_ASSIGN_OR_RETURN(rope.theta, entry.FloatOr("rope_theta", 1, 1e12, default_theta));
  QUERN_ASSIGN_OR_RETURN(rope.factor, entry.FloatOr("factor", 1e-3, 1e6, 1));
  QUERN_ASSIGN_OR_RETURN(rope.partial_rotary_factor, entry.FloatOr("partial_rotary_factor", 0, 1, 1));
  if (rope_type == "default") rope.partial_rotary_factor = 1;
  return rope;
}

// A geometry field with two spellings that must agree.
Status Agree(std::string_view where, int layer, std::string_view what, int64_t a, std::optional<int64_t> b) {
  if (!b || *b == a) return {};
  return Fail(Code::kCorrupt, "{}: layer {} has {} {} by the global keys and {} by per_layer_config", where, layer,
              what, a, *b);
}

}  // namespace

Result<Gemma4Config> Gemma4Config::FromJson(const Json& root) {
  const JsonFields outer(root, "config.json");
  QUERN_ASSIGN_OR_RETURN(const Json* nested, outer.Object("text_config"));
  const JsonFields fields(nested != nullptr ? *nested : root,
                          nested != nullptr ? "config.json: text_config" : "config.json");

  Gemma4Config config;
  QUERN_ASSIGN_OR_RETURN(const int64_t num_layers, fields.NeedInt("num_hidden_layers", 1, kMaxLayers));
  QUERN_ASSIGN_OR_RETURN(config.vocab_size, fields.NeedInt("vocab_size", 1, kMaxVocab));
  QUERN_ASSIGN_OR_RETURN(config.hidden_size, fields.NeedInt("hidden_size", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.num_heads, fields.NeedInt("num_attention_heads", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.context_limit, fields.IntOr("max_position_embeddings", 1, kMaxPositions, 131072));
  QUERN_ASSIGN_OR_RETURN(config.sliding_window, fields.NeedInt("sliding_window", 1, kMaxPositions));
  QUERN_ASSIGN_OR_RETURN(config.rms_eps, fields.FloatOr("rms_norm_eps", 0, 1, 1e-6));
  QUERN_ASSIGN_OR_RETURN(config.final_softcap, fields.FloatOr("final_logit_softcapping", 0, 1e6, 0));
  QUERN_ASSIGN_OR_RETURN(config.k_eq_v, fields.BoolOr("attention_k_eq_v", false));
  QUERN_ASSIGN_OR_RETURN(config.ple_width, fields.IntOr("hidden_size_per_layer_input", 0, kMaxWidth, 0));
  QUERN_ASSIGN_OR_RETURN(const bool has_experts, fields.BoolOr("enable_moe_block", false));
  if (has_experts) {
    QUERN_ASSIGN_OR_RETURN(config.num_experts, fields.NeedInt("num_experts", 1, 65536));
    QUERN_ASSIGN_OR_RETURN(config.top_k_experts, fields.NeedInt("top_k_experts", 1, config.num_experts));
    QUERN_ASSIGN_OR_RETURN(config.expert_intermediate, fields.NeedInt("moe_intermediate_size", 1, kMaxWidth));
  }
  QUERN_ASSIGN_OR_RETURN(const auto activation, fields.String("hidden_activation"));
  if (activation && *activation != "gelu_pytorch_tanh") {
    return Fail(Code::kUnsupported, "config.json: hidden_activation \"{}\"; Gemma 4 uses gelu_pytorch_tanh",
                *activation);
  }
  QUERN_ASSIGN_OR_RETURN(config.rope_sliding, ReadRope(fields, "sliding_attention", 1e4));
  QUERN_ASSIGN_OR_RETURN(config.rope_full, ReadRope(fields, "full_attention", 1e6));

  QUERN_ASSIGN_OR_RETURN(const int64_t head_dim, fields.NeedInt("head_dim", 2, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const int64_t kv_heads, fields.IntOr("num_key_value_heads", 1, kMaxWidth, config.num_heads));
  QUERN_ASSIGN_OR_RETURN(const auto global_head_dim, fields.Int("global_head_dim", 2, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const auto global_kv_heads, fields.Int("num_global_key_value_heads", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const auto overrides, ReadOverrides(fields, num_layers));
  const bool has_overrides =
      root.contains("per_layer_config") || (nested != nullptr && nested->contains("per_layer_config"));
  QUERN_ASSIGN_OR_RETURN(const auto types, fields.Strings("layer_types"));
  if (!types || static_cast<int64_t>(types->size()) != num_layers) {
    return Fail(Code::kCorrupt, "{}: layer_types has {} entries, expected one for each of {} layers", fields.where(),
                types ? types->size() : 0, num_layers);
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t width, fields.NeedInt("intermediate_size", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const bool double_wide, fields.BoolOr("use_double_wide_mlp", false));
  QUERN_ASSIGN_OR_RETURN(const int64_t num_shared, fields.IntOr("num_kv_shared_layers", 0, num_layers, 0));
  for (int i = 0; i < num_layers; ++i) {
    const std::string& type = (*types)[i];
    if (type != "sliding_attention" && type != "full_attention") {
      return Fail(Code::kUnsupported, "{}: layer_types[{}] is \"{}\"", fields.where(), i, type);
    }
    LayerConfig layer;
    layer.type = type == "full_attention" ? LayerType::kFull : LayerType::kSliding;
    const bool is_full = layer.type == LayerType::kFull;
    const auto found = overrides.find(i);
    const LayerOverride over = found == overrides.end() ? LayerOverride{} : found->second;
    // transformers' default for global_head_dim is 512, but files with per_layer_config have dropped that key.
    int64_t dim = head_dim;
    if (is_full && (global_head_dim || !has_overrides)) {
      dim = global_head_dim.value_or(512);
      QUERN_TRY(Agree(fields.where(), i, "head_dim", dim, over.head_dim));
    }
    int64_t kv = kv_heads;
    if (is_full && config.k_eq_v && global_kv_heads) {
      kv = *global_kv_heads;
      QUERN_TRY(Agree(fields.where(), i, "num_key_value_heads", kv, over.num_kv_heads));
    }
    layer.head_dim = static_cast<int>(over.head_dim.value_or(dim));
    layer.num_kv_heads = static_cast<int>(over.num_kv_heads.value_or(kv));
    layer.intermediate = double_wide && i >= num_layers - num_shared ? 2 * width : width;
    config.layers.push_back(layer);
  }
  QUERN_TRY(config.Complete(static_cast<int>(num_shared)));
  return config;
}

Result<Gemma4Config> Gemma4Config::FromGguf(const format::GgufFile& file) {
  const auto need_int = [&](std::string_view key, int64_t low, int64_t high) -> Result<int64_t> {
    QUERN_ASSIGN_OR_RETURN(const auto value, file.GetInt(key));
    if (!value) return Fail(Code::kCorrupt, "metadata {} is missing", key);
    if (*value < low || *value > high) {
      return Fail(Code::kCorrupt, "metadata {} is {}, expected {} to {}", key, *value, low, high);
    }
    return *value;
  };
  const auto int_or = [&](std::string_view key, int64_t low, int64_t high, int64_t fallback) -> Result<int64_t> {
    QUERN_ASSIGN_OR_RETURN(const auto value, file.GetInt(key));
    return value ? need_int(key, low, high) : Result<int64_t>(fallback);
  };
  const auto float_or = [&](std::string_view key, double fallback) -> Result<double> {
    QUERN_ASSIGN_OR_RETURN(const auto value, file.GetFloat(key));
    if (value && !std::isfinite(*value)) return Fail(Code::kCorrupt, "metadata {} is not finite", key);
    return value.value_or(fallback);
  };
  // Scalar or one entry per layer.
  const auto per_layer = [&](std::string_view key, int64_t num_layers, int64_t low,
                             int64_t high) -> Result<std::vector<int64_t>> {
    QUERN_ASSIGN_OR_RETURN(const auto values, file.GetInts(key, num_layers));
    if (!values) return Fail(Code::kCorrupt, "metadata {} is missing", key);
    if (static_cast<int64_t>(values->size()) != num_layers) {
      return Fail(Code::kCorrupt, "metadata {} has {} entries for {} layers", key, values->size(), num_layers);
    }
    for (const int64_t value : *values) {
      if (value < low || value > high) {
        return Fail(Code::kCorrupt, "metadata {} holds {}, expected {} to {}", key, value, low, high);
      }
    }
    return *values;
  };

  Gemma4Config config;
  QUERN_ASSIGN_OR_RETURN(const int64_t num_layers, need_int("gemma4.block_count", 1, kMaxLayers));
  QUERN_ASSIGN_OR_RETURN(config.hidden_size, need_int("gemma4.embedding_length", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.num_heads, need_int("gemma4.attention.head_count", 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(config.context_limit, need_int("gemma4.context_length", 1, kMaxPositions));
  QUERN_ASSIGN_OR_RETURN(config.sliding_window, need_int("gemma4.attention.sliding_window", 1, kMaxPositions));
  QUERN_ASSIGN_OR_RETURN(const int64_t full_dim, need_int("gemma4.attention.key_length", 2, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const int64_t value_dim, int_or("gemma4.attention.value_length", 2, kMaxWidth, full_dim));
  QUERN_ASSIGN_OR_RETURN(const int64_t sliding_dim, int_or("gemma4.attention.key_length_swa", 2, kMaxWidth, full_dim));
  if (value_dim != full_dim) {
    return Fail(Code::kUnsupported, "key_length {} and value_length {} differ", full_dim, value_dim);
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t num_shared, int_or("gemma4.attention.shared_kv_layers", 0, num_layers, 0));
  QUERN_ASSIGN_OR_RETURN(config.ple_width, int_or("gemma4.embedding_length_per_layer_input", 0, kMaxWidth, 0));
  QUERN_ASSIGN_OR_RETURN(config.rms_eps, float_or("gemma4.attention.layer_norm_rms_epsilon", 1e-6));
  QUERN_ASSIGN_OR_RETURN(config.final_softcap, float_or("gemma4.final_logit_softcapping", 0));
  QUERN_ASSIGN_OR_RETURN(config.num_experts, int_or("gemma4.expert_count", 0, 65536, 0));
  if (config.num_experts > 0) {
    QUERN_ASSIGN_OR_RETURN(config.top_k_experts, need_int("gemma4.expert_used_count", 1, config.num_experts));
    QUERN_ASSIGN_OR_RETURN(config.expert_intermediate, need_int("gemma4.expert_feed_forward_length", 1, kMaxWidth));
  }
  QUERN_ASSIGN_OR_RETURN(config.rope_full.theta, float_or("gemma4.rope.freq_base", 1e6));
  QUERN_ASSIGN_OR_RETURN(config.rope_sliding.theta, float_or("gemma4.rope.freq_base_swa", 1e4));
  // The rotated span is in the tensor rope_freqs.weight; the decoder reads it. 0.25 is what every file so far means.
  config.rope_full.partial_rotary_factor = 0.25;
  QUERN_ASSIGN_OR_RETURN(const auto widths, per_layer("gemma4.feed_forward_length", num_layers, 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const auto kv_heads, per_layer("gemma4.attention.head_count_kv", num_layers, 1, kMaxWidth));
  QUERN_ASSIGN_OR_RETURN(const auto pattern, file.GetBools("gemma4.attention.sliding_window_pattern", num_layers));
  if (!pattern || static_cast<int64_t>(pattern->size()) != num_layers) {
    return Fail(Code::kCorrupt, "metadata gemma4.attention.sliding_window_pattern has {} entries for {} layers",
                pattern ? pattern->size() : 0, num_layers);
  }
  for (int i = 0; i < num_layers; ++i) {
    LayerConfig layer;
    layer.type = (*pattern)[i] ? LayerType::kSliding : LayerType::kFull;
    layer.head_dim = static_cast<int>(layer.type == LayerType::kFull ? full_dim : sliding_dim);
    layer.num_kv_heads = static_cast<int>(kv_heads[i]);
    layer.intermediate = widths[i];
    config.layers.push_back(layer);
  }
  // In GGUF a full layer without attn_v takes V from K: there is no key for it.
  for (int i = 0; i < num_layers; ++i) {
    const bool lacks_v = file.tensors().Find(fmt::format("blk.{}.attn_v.weight", i)) == nullptr;
    if (lacks_v && i < num_layers - num_shared) config.k_eq_v = true;
  }
  QUERN_TRY(config.Complete(static_cast<int>(num_shared)));
  return config;
}

Status Gemma4Config::Complete(int num_shared_layers) {
  if (!(rms_eps >= 0 && rms_eps <= 1) || !(final_softcap >= 0)) {
    return Fail(Code::kCorrupt, "rms eps {} or final softcap {} is out of range", rms_eps, final_softcap);
  }
  first_shared_layer = num_layers() - num_shared_layers;
  for (int i = 0; i < num_layers(); ++i) {
    LayerConfig& layer = layers[i];
    if (layer.head_dim % 8 != 0) {
      return Fail(Code::kUnsupported, "layer {} has head_dim {}; it must be a multiple of 8", i, layer.head_dim);
    }
    if (num_heads % layer.num_kv_heads != 0) {
      return Fail(Code::kCorrupt, "layer {} has {} heads for {} K/V heads, which does not divide", i, num_heads,
                  layer.num_kv_heads);
    }
    layer.kv_donor = i;
    if (i < first_shared_layer) continue;
    int donor = first_shared_layer - 1;
    while (donor >= 0 && layers[donor].type != layer.type) --donor;
    if (donor < 0) return Fail(Code::kCorrupt, "layer {} shares K/V, but no earlier layer of its type owns any", i);
    if (layers[donor].head_dim != layer.head_dim || layers[donor].num_kv_heads != layer.num_kv_heads) {
      return Fail(Code::kCorrupt, "layer {} shares the K/V of layer {}, which has another geometry", i, donor);
    }
    layer.kv_donor = donor;
  }
  return {};
}

std::vector<float> RopeInvFreq(const RopeConfig& rope, int head_dim) {
  const int pairs = static_cast<int>(rope.partial_rotary_factor * head_dim / 2);
  std::vector<float> inv_freq(pairs);
  for (int i = 0; i < pairs; ++i) {
    inv_freq[i] = static_cast<float>(std::pow(rope.theta, -2.0 * i / head_dim) / rope.factor);
  }
  return inv_freq;
}

}  // namespace quern::models::gemma4
