// Decoder: one text model that predicts the next token. It knows its configuration and its tensors' names, and builds
// the step program; it does not know batches, caches, sampling or devices. Immutable: any thread may read it. The
// checkpoint that its tensors come from must outlive it and its programs.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "ops/program/program.h"

namespace quern::models {

struct DecoderInfo {
  std::string architecture;  // "gemma4"
  int num_layers = 0;        // L
  int hidden_size = 0;       // D
  int64_t vocab_size = 0;    // V
  int64_t context_limit = 0;
  int sliding_window = 0;  // largest window of a layer; 0 = none
};

struct BuildOptions {
  bool capture_hidden = false;  // keep the input of every layer (Program::captures); costs memory, for tests
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual const DecoderInfo& info() const = 0;
  // Missing tensors and wrong shapes are Corrupt and named.
  virtual Result<ops::Program> BuildProgram(const BuildOptions& options) const = 0;
};

}  // namespace quern::models
