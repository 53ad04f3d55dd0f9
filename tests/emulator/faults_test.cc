// Every planted fault (mutate.py) is caught: by an error of the emulator, by bits that differ from the contract, or by
// a byte outside of the output. The same text without a fault passes, so the test of the test is in it.
#include <algorithm>
#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/gen/matmul_case.h"
#include "tests/emulator/emulator.h"

namespace quern::emulator {
namespace {

using kernels::ir::gen::MatmulCase;

constexpr uint32_t kThreads = 256, kSharedBytes = 8 * 2 * 288 + 8 * 512;

struct Outcome {
  int errors = 0, mismatches = 0, stray_writes = 0;
  std::string message;
  bool caught() const { return errors + mismatches + stray_writes > 0; }
};

Outcome RunFault(const std::string& fault) {
  const MatmulCase c = kernels::ir::gen::RandomMatmul(DType::kQ4_0, 3, 37, 1024, 3);
  auto operands = kernels::ir::gen::OperandsOf(c);
  const auto kernel = Find(("fault_" + fault).c_str(), kThreads, kSharedBytes);
  Outcome outcome;
  if (!kernel) {
    ADD_FAILURE() << kernel.error().ToString();
    return outcome;
  }
  for (const Order order : {Order::kForward, Order::kReverse, Order::kRandom}) {
    // A row more than the kernel may write.
    std::vector<float> y(size_t{c.rows + 1} * c.n, -1.5f);
    qk_args args{};
    const auto buffers = operands.Buffers(y);
    for (size_t i = 0; i < buffers.size(); ++i) args.buffer[i] = buffers[i].data();
    args.u[0] = c.rows;
    args.u[1] = c.n;
    args.u[2] = c.k / 32;
    args.tiles = (c.n + 15) / 16;
    if (const Status ran = Launch(*kernel, args, 2, order); !ran) {
      ++outcome.errors;
      outcome.message = ran.error().ToString();
      continue;
    }
    for (uint32_t r = 0; r < c.rows; ++r) {
      for (uint32_t n = 0; n < c.n; ++n) {
        if (std::bit_cast<uint32_t>(y[size_t{r} * c.n + n]) != std::bit_cast<uint32_t>(DotI8(c, r, n)))
          ++outcome.mismatches;
      }
    }
    outcome.stray_writes += static_cast<int>(std::count_if(y.end() - c.n, y.end(), [](float v) { return v != -1.5f; }));
  }
  return outcome;
}

TEST(EmulatorFaults, TheUnchangedTextPasses) {
  const Outcome outcome = RunFault("unchanged");
  EXPECT_FALSE(outcome.caught()) << outcome.message;
}

TEST(EmulatorFaults, WrongNumbersAreSeen) {
  for (const char* fault : {"swapped_nibbles", "wrong_fragment_word", "wrong_fragment_lane", "wrong_chain"})
    EXPECT_GT(RunFault(fault).mismatches, 0) << fault;
}

TEST(EmulatorFaults, MissingSynchronisationIsSeen) {
  for (const char* fault : {"dropped_barrier", "dropped_warp_sync", "dropped_async_wait"})
    EXPECT_TRUE(RunFault(fault).caught()) << fault;
}

TEST(EmulatorFaults, ATailOffByOneIsSeen) {
  const Outcome outcome = RunFault("tail_off_by_one");
  EXPECT_GT(outcome.stray_writes + outcome.mismatches, 0);
}

TEST(EmulatorFaults, WhatAGpuWouldHangOnIsAnError) {
  for (const char* fault : {"barrier_under_divergence", "sync_under_divergence", "early_return"}) {
    const Outcome outcome = RunFault(fault);
    EXPECT_EQ(outcome.errors, 3) << fault;
    EXPECT_NE(outcome.message.find("waits for ever"), std::string::npos) << outcome.message;
  }
}

}  // namespace
}  // namespace quern::emulator
