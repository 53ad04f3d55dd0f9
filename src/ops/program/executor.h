// Executor: runs a program on one backend. It owns the prepared weights and the step's buffers; it does not own the
// cache. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/cpu/cpu_device.h"
#include "ops/program/program.h"

namespace quern::ops {

// One step: T rows of B sequences. A sequence's rows have increasing positions; rows of different sequences may be
// mixed.
struct StepInputs {
  std::span<const int32_t> ids;               // [T]
  std::span<const int32_t> positions;         // [T]
  std::span<const int32_t> sequence_of;       // [T] index into sequences
  std::span<const int32_t> kept;              // [Tk] ascending row numbers whose logits are wanted
  std::span<const KvSequenceView> sequences;  // [B]
  std::span<const KvPoolView> pools;          // by KV group
};

// Numerics classes of the products (docs/kernels.md): exact keeps f32 activations (class dot-f) everywhere.
enum class Numerics : uint8_t { kDefault, kExact };

struct ExecutorOptions {
  int max_rows = 512;  // largest T
  int max_kept = 512;  // largest Tk
  Numerics numerics = Numerics::kDefault;
  // Called while weights are prepared with bytes done of bytes in all; returning false cancels the load.
  std::function<bool(int64_t done, int64_t total)> progress;
};

// Which kernel a product runs, for `show --routes` and for the counters.
struct RouteRow {
  std::string tensor;    // "blk.0.attn_q.weight"
  std::string dtype;     // "Q4_0"
  std::string kernel;    // "matmul.q4_0.qa8.rows8.avx2"
  std::string numerics;  // "dot-i8"
  std::string reason;    // why this one: "default", "numerics exact", "no int8 kernel for F32"
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual Status Run(const StepInputs& inputs) = 0;
  // An output value of the last step: row-major [rows, width].
  virtual std::span<const float> Read(Value value) const = 0;
  virtual std::vector<RouteRow> Routes() const = 0;
  virtual int64_t weight_bytes() const = 0;   // memory of prepared weights beyond the mapped file
  virtual int64_t scratch_bytes() const = 0;  // memory of values
};

// Prepares the program's weights for the device. The tensors that program.weights point to must outlive the executor.
Result<std::unique_ptr<Executor>> MakeCpuExecutor(std::shared_ptr<const Program> program,
                                                  device::cpu::CpuDevice& device, const ExecutorOptions& options);

}  // namespace quern::ops
