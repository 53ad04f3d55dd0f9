// Gemma3Config: the architecture of one Gemma 3 text decoder (270M, 1B and the text part of the larger ones).
// Sources: transformers models/gemma3/configuration_gemma3.py; llama.cpp's gguf-py constants for the GGUF keys.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/status.h"
#include "format/gguf.h"

namespace quern::models::gemma3 {

struct Gemma3Config {
  int64_t vocab_size = 0;  // V; 0: the embedding decides
  int num_layers = 0;      // L
  int hidden_size = 0;     // D
  int num_heads = 0, num_kv_heads = 0;
  int head_dim = 0;  // Dh, all layers
  int64_t intermediate = 0;
  int64_t context_limit = 0;
  int sliding_window = 0;
  int full_period = 6;  // every 6th layer is full (5, 11, ...): in GGUF there is no key for it
  float rms_eps = 1e-6f;
  double query_scalar = 0;  // attention scale = query_scalar^(-1/2)
  double rope_local_theta = 1e4, rope_global_theta = 1e6;
  double rope_global_factor = 1;  // divides the global frequencies (linear scaling of the 4B and larger models)
  float final_softcap = 0;
  float norm_offset = 0;  // safetensors store w where the formula has 1 + w; GGUF stores 1 + w

  bool is_full(int layer) const { return layer % full_period == full_period - 1; }

  static Result<Gemma3Config> FromJson(const Json& config);
  static Result<Gemma3Config> FromGguf(const format::GgufFile& file);

 private:
  Status Validate() const;
};

}  // namespace quern::models::gemma3
