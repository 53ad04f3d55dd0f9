// V8: kernels whose threads write the same byte are refused; those that only look like it pass.
#include "kernels/ir/verify_kernels_test.h"

namespace quern::kernels::ir {
namespace {

TEST(VerifyExclusive, PlantedFaults) {
  EXPECT_CODES(Elementwise({.same_byte = true}), "V8");
  EXPECT_CODES(MatVec({.all_lanes_store = true}), "V8");
  EXPECT_CODES(Panel({.swapped = true}), "V8");
  EXPECT_CODES(Tiled({.rows_as_columns = true}), "V4", "V8");
}

// What one thread of a 1-warp block does to y (64 bytes a thread) of `tiles` tiles.
template <typename F>
Kernel PerThread(const F& f, Access access = Access::kWrite) {
  Builder b({.warps = 1});
  const Value tiles = b.U32Param("tiles", 1, 1 << 20);
  const uint32_t y = b.AddBuffer("y", access, b.Wide(tiles) * 2048);
  f(b, y, b.Wide(b.Tile() * 32 + b.Lane()) * 64);
  return std::move(b).Finish(tiles);
}

TEST(VerifyExclusive, SeveralStoresOfOneThread) {
  EXPECT_ACCEPTED(PerThread([](Builder& b, uint32_t y, Value at) {
    b.Store(y, at, b.U32(1));
    b.Store(y, at + 60, b.U32(2));
    b.Store(y, at, b.U32(3));
  }));
  EXPECT_ACCEPTED(PerThread([](Builder& b, uint32_t y, Value at) {
    b.For("i", b.U32(0), b.U32(16), {}, [&](Value i) { b.Store(y, at + b.Wide(i) * 4, b.U32(1)); });
    b.For("i", b.U32(0), b.U32(8), {}, [&](Value i) { b.Store(y, at + b.Wide(i) * 8, b.U32(1)); });
  }));
  // One byte too far into the next thread's.
  EXPECT_CODES(PerThread([](Builder& b, uint32_t y, Value at) {
                 b.Store(y, at, b.U32(1));
                 b.Store(y, at + 64, b.U32(2), (b.Lane() < 31) & (b.Tile() == 0));
               }),
               "V8");
  EXPECT_CODES(PerThread([](Builder& b, uint32_t y, Value at) {
                 b.For("i", b.U32(0), b.U32(17), {},
                       [&](Value i) { b.Store(y, at + b.Wide(i) * 4, b.U32(1), b.Lane() < 31); });
               }),
               "V8");
}

TEST(VerifyExclusive, ReadersOfWhatIsWritten) {
  EXPECT_ACCEPTED(
      PerThread([](Builder& b, uint32_t y,
                   Value at) { b.Store(y, at + 4, b.Load("v", kU32, y, at) + b.Load("w", kU32, y, at + 4)); },
                Access::kReadWrite));
  // In place over two loops.
  EXPECT_ACCEPTED(PerThread(
      [](Builder& b, uint32_t y, Value at) {
        const Reg sum = b.Declare("sum", kU32);
        b.Set(sum, b.U32(0));
        b.For("i", b.U32(0), b.U32(16), {},
              [&](Value i) { b.Set(sum, sum + b.Load("v", kU32, y, at + b.Wide(i) * 4)); });
        b.For("i", b.U32(0), b.U32(16), {}, [&](Value i) { b.Store(y, at + b.Wide(i) * 4, sum); });
      },
      Access::kReadWrite));
  // The neighbour's value.
  EXPECT_CODES(PerThread(
                   [](Builder& b, uint32_t y, Value at) {
                     const Value v = b.Load("v", kU32, y, b.Wide(b.Tile() * 32 + (b.Lane() ^ 1)) * 64);
                     b.Store(y, at, v);
                   },
                   Access::kReadWrite),
               "V8");
}

TEST(VerifyExclusive, GuardsThatNameTheThread) {
  const auto store_at_tile = [](auto guard) {
    return PerThread([guard](Builder& b, uint32_t y, Value) { b.Store(y, b.Wide(b.Tile()) * 4, b.U32(1), guard(b)); });
  };
  EXPECT_ACCEPTED(store_at_tile([](Builder& b) { return b.Lane() == 5; }));
  EXPECT_ACCEPTED(store_at_tile([](Builder& b) { return (b.Lane() / 4 == 2) & (b.Lane() % 4 == 0); }));
  EXPECT_ACCEPTED(store_at_tile([](Builder& b) { return b.Thread() < 1; }));
  EXPECT_CODES(store_at_tile([](Builder& b) { return b.Lane() != 5; }), "V8");
  EXPECT_CODES(store_at_tile([](Builder& b) { return b.Lane() % 4 == 0; }), "V8");
  EXPECT_CODES(store_at_tile([](Builder& b) { return b.Lane() < 2; }), "V8");
}

TEST(VerifyExclusive, BranchesAndRegions) {
  EXPECT_ACCEPTED(PerThread([](Builder& b, uint32_t y, Value at) {
    b.If(
        b.Lane() < 16, Uniform::kThread, [&] { b.Store(y, at, b.U32(1)); }, [&] { b.Store(y, at, b.U32(2)); });
  }));
  // Both halves write the rows of the first half.
  EXPECT_CODES(PerThread([](Builder& b, uint32_t y, Value at) {
                 b.If(
                     b.Lane() < 16, Uniform::kThread, [&] { b.Store(y, at, b.U32(1)); },
                     [&] { b.Store(y, at - 1024, b.U32(2)); });
               }),
               "V8");
  // Scattered by a value from memory: two tiles may have the same.
  Builder b({.warps = 1});
  const Value tiles = b.U32Param("tiles", 1, 64);
  const uint32_t slots = b.AddBuffer("slots", Access::kRead, b.Wide(tiles) * 4);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(tiles) * 128);
  const Value slot = b.Load("slot", kU32, slots, b.Wide(b.Tile()) * 4);
  b.Store(y, b.Wide(slot) * 128 + b.Wide(b.Lane()) * 4, b.U32(0), slot < tiles);
  EXPECT_CODES(std::move(b).Finish(tiles), "V8");
}

}  // namespace
}  // namespace quern::kernels::ir
