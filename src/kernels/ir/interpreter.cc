#include "kernels/ir/interpreter.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/check.h"
#include "kernels/ir/block_run.h"
#include "kernels/ir/evaluate.h"
#include "kernels/ir/memory.h"

namespace quern::kernels::ir {
namespace {

Status CheckParams(const Kernel& kernel, const Launch& launch) {
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Param& p = kernel.params[i];
    const uint32_t v = launch.params[i];
    if (p.type == Scalar::kU32 && (v < p.min || v > p.max || v % p.multiple_of != 0)) {
      return Fail(Code::kFailedPrecondition, "kernel {}: {} is {}; it must be within {} and {} and a multiple of {}",
                  kernel.id, p.name, v, p.min, p.max, p.multiple_of);
    }
  }
  return {};
}

// `bytes`: of each buffer, what the kernel may touch.
Status CheckBuffers(const Kernel& kernel, const Launch& launch, const std::vector<uint64_t>& bytes) {
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& b = kernel.buffers[i];
    if (launch.buffers[i].size() < bytes[i])
      return Fail(Code::kFailedPrecondition, "kernel {}: buffer {} has {} bytes, {} are needed", kernel.id, b.name,
                  launch.buffers[i].size(), bytes[i]);
    if (reinterpret_cast<uintptr_t>(launch.buffers[i].data()) % b.align != 0)
      return Fail(Code::kFailedPrecondition, "kernel {}: buffer {} is not aligned to {} bytes", kernel.id, b.name,
                  b.align);
  }
  // What is written is nobody else's: emitted text reads kRead buffers through caches that see no writes.
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    for (size_t j = 0; j < kernel.buffers.size(); ++j) {
      if (i == j || kernel.buffers[i].access == Access::kRead || bytes[i] == 0 || bytes[j] == 0) continue;
      const auto a = reinterpret_cast<uintptr_t>(launch.buffers[i].data()),
                 b = reinterpret_cast<uintptr_t>(launch.buffers[j].data());
      if (a < b + bytes[j] && b < a + bytes[i])
        return Fail(Code::kFailedPrecondition, "kernel {}: buffer {}, which is written, overlaps buffer {}", kernel.id,
                    kernel.buffers[i].name, kernel.buffers[j].name);
    }
  }
  return {};
}

}  // namespace

uint64_t EvaluateOverParams(const Kernel& kernel, ExprId id, std::span<const uint32_t> params) {
  const Expr& e = kernel.expr(id);
  if (e.op == Op::kParam) return params[e.value];
  if (e.op == Op::kConst) return e.value;
  uint64_t args[4] = {};
  QUERN_CHECK(e.num_args > 0);
  for (int i = 0; i < e.num_args; ++i) args[i] = EvaluateOverParams(kernel, e.args[i], params);
  if (e.op == Op::kSelect) return args[0] ? args[1] : args[2];
  bool ok = true;
  const uint64_t value = Apply(e, kernel.expr(e.args[0]).type, args, ok);
  QUERN_CHECK(ok);
  return value;
}

Status Interpret(const Kernel& kernel, const Launch& launch, const InterpretOptions& options) {
  QUERN_CHECK(launch.params.size() == kernel.params.size() && launch.buffers.size() == kernel.buffers.size());
  QUERN_TRY(CheckParams(kernel, launch));
  std::vector<uint64_t> bytes;
  for (const Buffer& b : kernel.buffers) bytes.push_back(EvaluateOverParams(kernel, b.min_bytes, launch.params));
  QUERN_TRY(CheckBuffers(kernel, launch, bytes));
  std::vector<GlobalShadow> global;
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    global.emplace_back(launch.buffers[i].first(bytes[i]), kernel.buffers[i].access != Access::kRead);

  std::vector<uint32_t> tiles(EvaluateOverParams(kernel, kernel.num_tiles, launch.params));
  std::iota(tiles.begin(), tiles.end(), 0);
  std::mt19937_64 random(launch.seed);
  if (launch.seed != 0) std::shuffle(tiles.begin(), tiles.end(), random);
  for (const uint32_t tile : tiles) QUERN_TRY(BlockRun(kernel, launch.params, global, tile).Run());

  for (const uint32_t buffer : options.written_in_full) {
    QUERN_CHECK(buffer < kernel.buffers.size() && kernel.buffers[buffer].access != Access::kRead);
    if (const auto missing = global[buffer].FirstUnwritten())
      return Fail(Code::kFailedPrecondition, "kernel {}: byte {} of the {} of buffer {} was not written", kernel.id,
                  *missing, bytes[buffer], kernel.buffers[buffer].name);
  }
  return {};
}

}  // namespace quern::kernels::ir
