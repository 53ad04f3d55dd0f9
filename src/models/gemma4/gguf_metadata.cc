#include "models/gemma4/gguf_metadata.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace quern::models::gemma4 {
namespace {

constexpr float kPassThrough = 1e30f;

// The head width of the layers of a type; `fallback` when there is none.
Result<int> HeadDimOf(const Gemma4Config& config, LayerType type, int fallback) {
  std::optional<int> found;
  for (const LayerConfig& layer : config.layers) {
    if (layer.type != type) continue;
    if (found && *found != layer.head_dim) {
      return Fail(Code::kUnsupported, "layers of one type have head widths {} and {}; GGUF has one key for them",
                  *found, layer.head_dim);
    }
    found = layer.head_dim;
  }
  return found.value_or(fallback);
}

// A scalar when all layers agree, else one entry per layer.
void SetScalarOrArray(std::string_view key, const Gemma4Config& config,
                      const std::function<int64_t(const LayerConfig&)>& of, format::GgufWriter* writer) {
  std::vector<int32_t> values;
  for (const LayerConfig& layer : config.layers) values.push_back(static_cast<int32_t>(of(layer)));
  const bool all_equal = std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end();
  if (all_equal) {
    writer->SetUint32(key, static_cast<uint32_t>(values.front()));
  } else {
    writer->SetInt32s(key, values);
  }
}

}  // namespace

Status WriteGgufMetadata(const Gemma4Config& config, format::GgufWriter* writer) {
  if (config.rope_full.factor != 1 || config.rope_sliding.factor != 1) {
    return Fail(Code::kUnsupported, "a rope factor has no key in a gemma4 GGUF file");
  }
  if (config.rope_sliding.partial_rotary_factor != 1) {
    return Fail(Code::kUnsupported, "sliding layers that rotate {} of their width have no form in a gemma4 GGUF file",
                config.rope_sliding.partial_rotary_factor);
  }
  const int any_dim = config.layers.front().head_dim;
  QUERN_ASSIGN_OR_RETURN(const int full_dim, HeadDimOf(config, LayerType::kFull, any_dim));
  QUERN_ASSIGN_OR_RETURN(const int sliding_dim, HeadDimOf(config, LayerType::kSliding, any_dim));
  const auto set_int = [&](std::string_view key, int64_t value) {
    writer->SetUint32(key, static_cast<uint32_t>(value));
  };

  set_int("gemma4.block_count", config.num_layers());
  set_int("gemma4.context_length", config.context_limit);
  set_int("gemma4.embedding_length", config.hidden_size);
  SetScalarOrArray(
      "gemma4.feed_forward_length", config, [](const LayerConfig& layer) { return layer.intermediate; }, writer);
  set_int("gemma4.attention.head_count", config.num_heads);
  SetScalarOrArray(
      "gemma4.attention.head_count_kv", config, [](const LayerConfig& layer) { return layer.num_kv_heads; }, writer);
  writer->SetFloat32("gemma4.rope.freq_base", static_cast<float>(config.rope_full.theta));
  writer->SetFloat32("gemma4.rope.freq_base_swa", static_cast<float>(config.rope_sliding.theta));
  writer->SetFloat32("gemma4.attention.layer_norm_rms_epsilon", config.rms_eps);
  if (config.num_experts > 0) {
    set_int("gemma4.expert_count", config.num_experts);
    set_int("gemma4.expert_used_count", config.top_k_experts);
    set_int("gemma4.expert_feed_forward_length", config.expert_intermediate);
  }
  set_int("gemma4.attention.key_length", full_dim);
  set_int("gemma4.attention.value_length", full_dim);
  if (config.final_softcap > 0) writer->SetFloat32("gemma4.final_logit_softcapping", config.final_softcap);
  set_int("gemma4.attention.sliding_window", config.sliding_window);
  set_int("gemma4.attention.shared_kv_layers", config.num_layers() - config.first_shared_layer);
  set_int("gemma4.embedding_length_per_layer_input", config.ple_width);
  std::vector<bool> is_sliding;
  for (const LayerConfig& layer : config.layers) is_sliding.push_back(layer.type == LayerType::kSliding);
  writer->SetBools("gemma4.attention.sliding_window_pattern", is_sliding);
  set_int("gemma4.attention.key_length_swa", sliding_dim);
  set_int("gemma4.attention.value_length_swa", sliding_dim);
  set_int("gemma4.rope.dimension_count", full_dim);
  set_int("gemma4.rope.dimension_count_swa", sliding_dim);
  return {};
}

std::vector<float> RopeFreqs(const Gemma4Config& config) {
  const auto full = std::ranges::find(config.layers, LayerType::kFull, &LayerConfig::type);
  if (full == config.layers.end()) return {};
  std::vector<float> factors(static_cast<size_t>(full->head_dim / 2), kPassThrough);
  const size_t rotated = RopeInvFreq(config.rope_full, full->head_dim).size();
  std::fill_n(factors.begin(), rotated, 1.0f);
  return factors;
}

Status TakeRotatedSpan(const TensorView& rope_freqs, Gemma4Config* config) {
  if (rope_freqs.dtype != DType::kF32 || rope_freqs.shape.rank() != 1 || rope_freqs.shape[0] == 0) {
    return Fail(Code::kCorrupt, "rope_freqs.weight is {} {}, expected a vector of F32", NameOf(rope_freqs.dtype),
                rope_freqs.shape.ToString());
  }
  const int64_t pairs = rope_freqs.shape[0];
  std::vector<float> factors(static_cast<size_t>(pairs));
  std::memcpy(factors.data(), rope_freqs.data, factors.size() * sizeof(float));
  const auto rotated = std::ranges::find_if(factors, [](float factor) { return factor != 1.0f; });
  const bool rest_passes = std::all_of(rotated, factors.end(), [](float factor) { return factor >= 1e20f; });
  if (!rest_passes) {
    return Fail(Code::kUnsupported,
                "rope_freqs.weight holds factors other than 1 and 1e30, which config.json cannot say");
  }
  config->rope_full.partial_rotary_factor = static_cast<double>(rotated - factors.begin()) / static_cast<double>(pairs);
  return {};
}

}  // namespace quern::models::gemma4
