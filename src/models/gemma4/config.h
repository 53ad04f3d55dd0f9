// Gemma4Config: the architecture of one Gemma 4 text decoder, read from config.json or GGUF metadata and validated.
//
// Sources: transformers models/gemma4/configuration_gemma4.py for the fields and their defaults, llama.cpp's gguf-py
// constants for the GGUF keys. Both spellings of the full layers' geometry are read (global_head_dim with
// num_global_key_value_heads, and per_layer_config); a file that contradicts itself is Corrupt.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "format/gguf.h"

namespace quern::models::gemma4 {

enum class LayerType : uint8_t { kSliding, kFull };

struct LayerConfig {
  LayerType type = LayerType::kSliding;
  int head_dim = 0;          // Dh
  int num_kv_heads = 0;      // Hkv
  int64_t intermediate = 0;  // F of the dense MLP
  int kv_donor = 0;          // the layer whose K/V this one reads: itself, or the last owner of its type
};

struct RopeConfig {
  double theta = 10000;
  double partial_rotary_factor = 1;  // "proportional": rotated pairs = int(factor * Dh / 2), denominator stays Dh
  double factor = 1;                 // divides all frequencies
};

struct Gemma4Config {
  int64_t vocab_size = 0;  // V; 0 when the file does not say (GGUF): the embedding decides
  int hidden_size = 0;     // D
  int num_heads = 0;       // H
  int64_t context_limit = 0;
  int sliding_window = 0;      // W: positions visible including the query's own
  int first_shared_layer = 0;  // layers from here on own no K/V; = number of layers when all do
  bool k_eq_v = false;         // full layers without v_proj take V from the raw K projection
  int ple_width = 0;           // P; 0 = no per-layer embeddings
  float rms_eps = 1e-6f;
  float final_softcap = 0;  // 0 = none
  int num_experts = 0;      // E; 0 = dense only
  int top_k_experts = 0;
  int64_t expert_intermediate = 0;
  RopeConfig rope_sliding, rope_full;
  std::vector<LayerConfig> layers;

  int num_layers() const { return static_cast<int>(layers.size()); }
  bool owns_kv(int layer) const { return layers[layer].kv_donor == layer; }

  static Result<Gemma4Config> FromJson(const Json& config);
  static Result<Gemma4Config> FromGguf(const format::GgufFile& file);

 private:
  // Fills kv_donor and checks what must hold between fields.
  Status Complete(int num_shared_layers);
};

// inv_freq of the rotated pairs of a layer type (gemma4.md's "proportional" RoPE): theta^(-2i / Dh) / factor.
std::vector<float> RopeInvFreq(const RopeConfig& rope, int head_dim);

}  // namespace quern::models::gemma4
