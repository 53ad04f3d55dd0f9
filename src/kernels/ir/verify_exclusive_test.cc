// V8: no byte of an output has two writers, and what is updated in place is read by its writer alone.
#include <gtest/gtest.h>

#include "kernels/ir/verify_cases.h"

namespace quern::kernels::ir {
namespace {

TEST(VerifyExclusive, EachMutationIsRefused) {
  EXPECT_EQ(Codes(QuantVector(Fault::kTwoWriters)), "V8");
  EXPECT_EQ(Codes(Panel(Fault::kTwoWriters)), "V4") << "the combination reads beyond its array";
  EXPECT_EQ(Codes(RowNorm(Fault::kTwoTiles)), "V8");
  EXPECT_EQ(Codes(TwoDimensional(Fault::kTwoWriters)), "V8");
  EXPECT_EQ(Codes(TwoDimensional(Fault::kTwoTiles)), "V8");
  EXPECT_EQ(Codes(TwoDimensional(Fault::kOtherReads)), "V8");
}

// y[at(b)] = 1 for one tile of two warps, or for three tiles.
template <typename Make>
Kernel StoreAt(uint32_t tiles, const Make& make) {
  Builder b({.warps = 2});
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(4096));
  make(b, y);
  return std::move(b).Finish(b.U32(tiles));
}

TEST(VerifyExclusive, StridesOfThreadsAndTiles) {
  const auto at = [](uint32_t tile, uint32_t warp, uint32_t lane, Type type) {
    return StoreAt(3, [&](Builder& b, uint32_t y) {
      const Value zero = b.F32(0);
      const Value value = type == kF32 ? zero : b.Vector({zero, zero});
      b.Store(y, b.Tile() * tile + b.Warp() * warp + b.Lane() * lane, value);
    });
  };
  EXPECT_EQ(Codes(at(256, 128, 4, kF32)), "");
  EXPECT_EQ(Codes(at(512, 256, 8, kF32)), "");
  EXPECT_EQ(Codes(at(128, 384, 4, kF32)), "") << "warps apart, tiles inside";
  EXPECT_EQ(Codes(at(4, 12, 24, kF32)), "") << "three tiles of 4 in a warp's 12, two warps in a lane's 24";
  EXPECT_EQ(Codes(at(4, 12, 20, kF32)), "V8");
  EXPECT_EQ(Codes(at(8, 4, 24, kF32)), "") << "lane, tile, warp";
  EXPECT_EQ(Codes(at(252, 128, 4, kF32)), "V8");
  EXPECT_EQ(Codes(at(256, 124, 4, kF32)), "V8");
  EXPECT_EQ(Codes(at(0, 128, 4, kF32)), "V8");
  EXPECT_EQ(Codes(at(256, 0, 4, kF32)), "V8");
  EXPECT_EQ(Codes(at(256, 128, 0, kF32)), "V8");
  EXPECT_EQ(Codes(at(512, 256, 8, kF32x2)), "");
}

TEST(VerifyExclusive, StoresOfOneKernelMeet) {
  const auto two = [](uint32_t second, bool swapped) {
    return StoreAt(1, [&](Builder& b, uint32_t y) {
      b.Store(y, b.Thread() * 8, b.F32(0));
      b.Store(y, (swapped ? b.U32(63) - b.Thread() : b.Thread()) * 8 + second, b.F32(1));
    });
  };
  EXPECT_EQ(Codes(two(4, false)), "");
  EXPECT_EQ(Codes(two(0, false)), "") << "the same thread twice";
  EXPECT_EQ(Codes(two(8, false)), "V8") << "the next thread's";
  EXPECT_EQ(Codes(two(0, true)), "V8") << "another thread's";
}

TEST(VerifyExclusive, LoopsOfDifferentThreads) {
  const auto loop = [](uint32_t stride) {
    return StoreAt(1, [&](Builder& b, uint32_t y) {
      b.For("i", b.U32(0), b.U32(4), {}, [&](Value i) { b.Store(y, i * stride + b.Thread() * 4, b.F32(0)); });
    });
  };
  EXPECT_EQ(Codes(loop(256)), "");
  EXPECT_EQ(Codes(loop(252)), "V8") << "thread 63 of one turn and thread 0 of the next";
  EXPECT_EQ(Codes(loop(0)), "") << "each thread its own, again and again";
}

TEST(VerifyExclusive, QuotientsAndRemaindersOfLanes) {
  const auto parts = [](uint32_t divide, uint32_t modulo) {
    return StoreAt(1, [&](Builder& b, uint32_t y) {
      b.Store(y, b.Warp() * 256 + (b.Lane() / divide) * 4 + (b.Lane() % modulo) * 64, b.F32(0));
    });
  };
  EXPECT_EQ(Codes(parts(4, 4)), "");
  EXPECT_EQ(Codes(parts(4, 2)), "V8") << "lanes 0 and 2";
  EXPECT_EQ(Codes(parts(8, 4)), "V8") << "lanes 0 and 4";
}

TEST(VerifyExclusive, GuardsLeaveOneThread) {
  const auto guarded = [](auto condition) {
    return StoreAt(1, [&](Builder& b, uint32_t y) {
      b.If(condition(b), Uniform::kThread, [&] { b.Store(y, b.Warp() * 4, b.F32(0)); });
    });
  };
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() == 0; })), "");
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() == 31; })), "");
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() < 1; })), "");
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() == 7; })), "");
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() < 2; })), "V8");
  EXPECT_EQ(Codes(guarded([](Builder& b) { return b.Lane() % 8 == 0; })), "V8");
}

}  // namespace
}  // namespace quern::kernels::ir
