// A checkpoint opened for golden tests: program, executor and cache at given numerics, without the engine around them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "format/safetensors.h"
#include "models/checkpoint.h"
#include "models/decoder.h"
#include "ops/program/executor.h"
#include "runtime/kv/kv_cache.h"
#include "runtime/scheduler/stepper.h"

namespace quern::golden {

struct ModelOptions {
  int threads = 2;
  int chunk = 512;  // rows per step
  DType kv_dtype = DType::kF32;
  ops::Numerics numerics = ops::Numerics::kExact;
  device::cpu::Isa isa = device::cpu::BestIsa(device::cpu::CpuFeatures::Host());
  bool capture_hidden = false;
  int64_t context = 2048;
};

class GoldenModel {
 public:
  // folder: relative to the source tree. Fails the running test and returns null when it cannot be opened.
  static std::unique_ptr<GoldenModel> Open(const std::string& folder, const ModelOptions& options = {});

  // Logits [n, V] of the last n tokens of ids, evaluated in a fresh sequence.
  std::vector<float> LastLogits(std::span<const int32_t> ids, int n);
  // The greedy continuation of ids, without end tokens' special treatment: n tokens.
  std::vector<int32_t> Greedy(std::span<const int32_t> ids, int n);

  const ops::Program& program() const { return *program_; }
  ops::Executor& executor() { return *executor_; }
  runtime::KvCache& cache() { return *cache_; }
  runtime::Stepper& stepper() { return *stepper_; }

 private:
  models::Checkpoint checkpoint_;
  std::unique_ptr<models::Decoder> decoder_;
  std::unique_ptr<device::cpu::CpuDevice> device_;
  std::shared_ptr<const ops::Program> program_;
  std::unique_ptr<ops::Executor> executor_;
  std::unique_ptr<runtime::KvCache> cache_;
  std::unique_ptr<runtime::Stepper> stepper_;
};

// Golden tensors of a folder's golden.safetensors.
class GoldenValues {
 public:
  explicit GoldenValues(const std::string& folder);
  bool Has(const std::string& name) const { return file_.tensors.Find(name) != nullptr; }
  std::vector<float> Floats(const std::string& name) const;
  std::vector<int32_t> Ints(const std::string& name) const;

 private:
  format::SafetensorsFile file_;
};

// RMS(a - b) / RMS(b), in f64.
double RelativeRms(std::span<const float> a, std::span<const float> b);

}  // namespace quern::golden
