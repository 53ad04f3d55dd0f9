// The host emulator: runs emitted CUDA text on a CPU. Every thread of a block is a fiber; blocks run one after the
// other. A fiber runs until it meets the others: at a block barrier, or in a warp operation, which is a rendezvous of
// 32 lanes.
//
// What a GPU would hang on or leave undefined is an error here: a thread that ends while others wait, lanes of a warp
// in different operations, a barrier that part of a block never reaches. Asynchronous copies happen at the wait that
// they need, not before. Shared memory starts each block as 0xA5. A text without faults gives the same bytes in every
// order.
//
// One launch at a time per process thread. Link the text with quern_emulated_text (CMakeLists.txt).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/lower/device_text/qk_args.h"

namespace quern::emulator {

// In which order runnable threads get their turn.
enum class Order { kForward, kReverse, kRandom };

struct EmulatedKernel {
  void (*entry)(qk_args) = nullptr;
  uint32_t threads = 0, shared_bytes = 0;
};

// The entry of that name among the texts linked into this program; NotFound otherwise.
Result<EmulatedKernel> Find(const char* symbol, uint32_t threads, uint32_t shared_bytes);

// FailedPrecondition names the block, the thread and what it met.
Status Launch(const EmulatedKernel& kernel, const qk_args& args, uint32_t grid, Order order, uint64_t seed = 1);

}  // namespace quern::emulator
