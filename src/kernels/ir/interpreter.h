// The interpreter: the oracle that every emitted text is compared with, and a detector of races, reads of what nobody
// wrote, and accesses out of bounds.
//
// It executes each statement for all threads of a block before the next one, with masks where control diverges, so its
// result is deterministic. Tiles run one after the other in an order shuffled by the seed, which exposes dependence
// between them. Slow by design; one thread per call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

struct Launch {
  std::vector<std::span<std::byte>> buffers;  // in the order of Kernel::buffers
  std::vector<uint32_t> params;               // bits, in the order of Kernel::params
  uint64_t seed = 0;                          // 0: tiles in increasing order
};

struct InterpretOptions {
  // Buffers (indices; of Access::kWrite or kReadWrite) of which the launch must write each of the min_bytes.
  std::vector<uint32_t> written_in_full;
};

// Runs all tiles. FailedPrecondition when the launch breaks the kernel's contract (parameter ranges, buffer sizes) or
// the kernel breaks a rule: the message names the rule, the statement, the tile, the thread and the numbers. Buffers
// then hold what was written so far.
Status Interpret(const Kernel& kernel, const Launch& launch, const InterpretOptions& options = {});

// A u32 or u64 expression over parameters alone: num_tiles, min_bytes.
uint64_t EvaluateOverParams(const Kernel& kernel, ExprId expr, std::span<const uint32_t> params);

}  // namespace quern::kernels::ir
