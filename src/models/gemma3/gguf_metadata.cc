#include "models/gemma3/gguf_metadata.h"

#include <cmath>

namespace quern::models::gemma3 {

Status WriteGgufMetadata(const Gemma3Config& config, format::GgufWriter* writer) {
  constexpr int kPeriod = 6;  // no key says it: readers know it
  if (config.full_period != kPeriod) {
    return Fail(Code::kUnsupported, "every {}th layer is full; a gemma3 GGUF file means every {}th", config.full_period,
                kPeriod);
  }
  // Readers scale by the head width, but for the 62-layer model.
  const bool is_27b = config.num_layers == 62;
  const double expected = is_27b ? static_cast<double>(config.hidden_size) / config.num_heads : config.head_dim;
  if (std::abs(config.query_scalar - expected) > 1e-6 * expected) {
    return Fail(Code::kUnsupported, "query_pre_attn_scalar is {}; a gemma3 GGUF file of this shape means {}",
                config.query_scalar, expected);
  }
  const auto set_int = [&](std::string_view key, int64_t value) {
    writer->SetUint32(key, static_cast<uint32_t>(value));
  };
  set_int("gemma3.block_count", config.num_layers);
  set_int("gemma3.context_length", config.context_limit);
  set_int("gemma3.embedding_length", config.hidden_size);
  set_int("gemma3.feed_forward_length", config.intermediate);
  set_int("gemma3.attention.head_count", config.num_heads);
  set_int("gemma3.attention.head_count_kv", config.num_kv_heads);
  writer->SetFloat32("gemma3.rope.freq_base", static_cast<float>(config.rope_global_theta));
  writer->SetFloat32("gemma3.rope.freq_base_swa", static_cast<float>(config.rope_local_theta));
  if (config.rope_global_factor != 1) {
    writer->SetString("gemma3.rope.scaling.type", "linear");
    writer->SetFloat32("gemma3.rope.scaling.factor", static_cast<float>(config.rope_global_factor));
  }
  writer->SetFloat32("gemma3.attention.layer_norm_rms_epsilon", config.rms_eps);
  set_int("gemma3.attention.key_length", config.head_dim);
  set_int("gemma3.attention.value_length", config.head_dim);
  if (config.final_softcap > 0) writer->SetFloat32("gemma3.final_logit_softcapping", config.final_softcap);
  set_int("gemma3.attention.sliding_window", config.sliding_window);
  return {};
}

}  // namespace quern::models::gemma3
