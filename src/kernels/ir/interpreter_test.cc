// Every statement of the IR does what kernel.h says, thread by thread, also where control diverges.
#include "kernels/ir/interpreter.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

// Runs a kernel that must pass, and compares the first word of each thread.
template <typename Body, typename Expected>
CaseRun ExpectWords(CaseOptions options, const Body& body, const Expected& expected) {
  CaseRun run = RunCase(options, body);
  EXPECT_EQ(run.error, "");
  for (uint32_t t = 0; t < options.warps * kWarpThreads; ++t) EXPECT_EQ(run.out[t], expected(t)) << "thread " << t;
  return run;
}

TEST(Interpreter, SetChangesActiveThreadsOnly) {
  ExpectWords(
      {.warps = 2},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const Reg r = b.Declare("r", kU32);
        b.Set(r, b.Thread() * 10);
        b.If(b.Thread() >= 40, Uniform::kThread, [&] { b.Set(r, Value(r) + 1); });
        io.Out(r);
      },
      [](uint32_t t) { return t * 10 + (t >= 40 ? 1 : 0); });
}

TEST(Interpreter, IfRunsBothSidesUnderMasks) {
  ExpectWords(
      {},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const Reg r = b.Declare("r", kU32);
        b.If(
            b.Lane() < 7, Uniform::kThread,
            [&] {
              b.If(
                  b.Lane() % 2 == 0, Uniform::kThread, [&] { b.Set(r, b.U32(1)); }, [&] { b.Set(r, b.U32(2)); });
            },
            [&] { b.Set(r, b.U32(3)); });
        io.Out(r);
      },
      [](uint32_t t) { return t >= 7       ? 3u
                              : t % 2 == 0 ? 1u
                                           : 2u; });
}

TEST(Interpreter, InnerControlKeepsTheOuterMask) {
  ExpectWords(
      {},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const Reg r = b.Declare("r", kU32);
        b.Set(r, b.U32(0));
        b.If(b.Lane() < 7, Uniform::kThread, [&] {
          b.For("i", b.U32(0), b.U32(3), {}, [&](Value) { b.Set(r, Value(r) + 1); });
          b.If(
              b.Lane() % 2 == 0, Uniform::kThread, [&] { b.Set(r, Value(r) + 10); }, [&] { b.Set(r, Value(r) + 20); });
        });
        io.Out(r);
      },
      [](uint32_t t) { return t >= 7       ? 0u
                              : t % 2 == 0 ? 13u
                                           : 23u; });
}

TEST(Interpreter, LoopsDivergeAndMeetAgain) {
  ExpectWords(
      {.warps = 2},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const Reg sum = b.Declare("sum", kU32);
        b.Set(sum, b.U32(1000));
        b.For("i", b.Lane() % 4, b.Thread(), {.step = 3, .uniform = Uniform::kThread}, [&](Value i) {
          b.For("j", i, i + 2, {.uniform = Uniform::kThread}, [&](Value j) { b.Set(sum, Value(sum) + j); });
        });
        b.Barrier();
        io.Out(sum);
      },
      [](uint32_t t) {
        uint32_t sum = 1000;
        for (uint32_t i = t % 32 % 4; i < t; i += 3) sum += i + i + 1;
        return sum;
      });
}

TEST(Interpreter, LoopWithNothingToDo) {
  ExpectWords(
      {},
      [](CaseBuilder& io) {
        io.b.For("i", io.b.U32(5), io.b.U32(5), {}, [&](Value) { io.b.Store(io.out, io.b.U64(1 << 20), io.b.U32(0)); });
        io.b.For("i", io.b.U32(6), io.b.U32(5), {}, [&](Value) { io.b.Store(io.out, io.b.U64(1 << 20), io.b.U32(0)); });
        io.Out(io.b.U32(1));
      },
      [](uint32_t) { return 1u; });
}

TEST(Interpreter, NarrowTypesAreLoadedAndStored) {
  // Bytes 0 1 2 .. of the words 0x03020100 + ...
  const CaseRun run = RunCase({}, [](CaseBuilder& io) {
    Builder& b = io.b;
    const Value first = b.Thread() == 0;
    const auto word = [&](uint32_t i, Value v) { b.Store(io.both, b.U64(4 * i), v, first); };
    b.Store(io.both, b.U64(400), b.U32(0xBC00F1E2), first);
    b.If(first, Uniform::kThread, [&] {
      word(0, b.Cast(kU32, b.Load("i8", kI8, io.both, b.U64(401))));
      word(1, b.Cast(kU32, b.Load("u8", kU8, io.both, b.U64(401))));
      word(2, b.Cast(kU32, b.Load("u16", kU16, io.both, b.U64(400))));
      word(3, b.Cast(kF32, b.Load("f16", kF16, io.both, b.U64(402))));
      word(4, b.Cast(kF32, b.Load("bf16", kBF16, io.both, b.U64(402))));
      b.Store(io.both, b.U64(40), b.Load("u64", kU64, io.in, b.U64(40)));
      b.Store(io.both, b.U64(48), b.Load("four", kU32x4, io.in, b.U64(160)));
      b.Store(io.both, b.U64(80), b.Cast(kU8, b.U32(0x1FE)));
      b.Store(io.both, b.U64(82), b.Cast(kF16, b.F32(-1)));
    });
  });
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.both[0], 0xFFFFFFF1u);
  EXPECT_EQ(run.both[1], 0xF1u);
  EXPECT_EQ(run.both[2], 0xF1E2u);
  EXPECT_EQ(run.both[3], std::bit_cast<uint32_t>(-1.0f));
  EXPECT_EQ(run.both[4], 0xBC000000u);
  EXPECT_EQ(std::vector<uint32_t>(&run.both[10], &run.both[12]), (std::vector<uint32_t>{10, 11}));
  EXPECT_EQ(std::vector<uint32_t>(&run.both[12], &run.both[16]), (std::vector<uint32_t>{40, 41, 42, 43}));
  EXPECT_EQ(run.both[20], 0xBC0000FEu);
}

TEST(Interpreter, PredicatesZeroLoadsAndDropStores) {
  const CaseRun run = RunCase({}, [](CaseBuilder& io) {
    Builder& b = io.b;
    // The offset of a thread whose predicate is false may lie anywhere.
    const Value allowed = b.Lane() < 5, offset = b.Select(allowed, io.Word(b.Lane() + 100), b.U64(1 << 20));
    const Value x = b.Load("x", kU32, io.in, offset, allowed);
    b.Store(io.out, io.Word(b.Lane()), x + 1);
    b.Store(io.both, b.Select(allowed, io.Word(b.Lane()), b.U64(1 << 20)), b.U32(77), allowed);
  });
  ASSERT_EQ(run.error, "");
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(run.out[t], t < 5 ? t + 101 : 1);
    EXPECT_EQ(run.both[t], t < 5 ? 77 : t);
  }
}

TEST(Interpreter, SharedMemoryCarriesValuesAcrossTheBarrier) {
  ExpectWords(
      {.warps = 2},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const uint32_t s = b.AddShared("s", 256);
        b.StoreShared(s, b.Thread() * 4, b.Thread() + 500);
        b.Barrier();
        b.StoreShared(s, b.U32(128), b.U32(1), b.Thread() == 0);  // dropped for all but one
        b.Barrier();
        io.Out(b.LoadShared("x", kU32, s, b.U32(252) - b.Thread() * 4));
      },
      [](uint32_t t) { return t == 31 ? 1u : 63 - t + 500; });
}

TEST(Interpreter, WarpSyncOrdersSharedMemoryOfItsWarp) {
  ExpectWords(
      {.warps = 2},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const uint32_t s = b.AddShared("s", 256);
        b.StoreShared(s, b.Thread() * 4, b.Thread());
        b.WarpSync();
        io.Out(b.LoadShared("x", kU32, s, (b.Thread() ^ 31) * 4));
      },
      [](uint32_t t) { return t ^ 31; });
}

TEST(Interpreter, ShufflesStayInTheirWarp) {
  const CaseRun run = RunCase({.warps = 2}, [](CaseBuilder& io) {
    Builder& b = io.b;
    b.If(b.Warp() == 1, Uniform::kWarp, [&] {
      const Value pair = b.Vector({b.Thread(), b.Thread() + 1000});
      const Value swapped = b.ShuffleXor("swapped", pair, 5);
      const Value from = b.ShuffleIndex("from", b.Thread(), (b.Lane() + 1) % 32);
      b.Store(io.out, b.Wide(b.Lane()) * 16,
              b.Vector({b.Extract(swapped, 0), b.Extract(swapped, 1), from,
                        b.WarpReduce("sum", b.Lane(), [](Value x, Value y) { return x + y; })}));
    });
  });
  ASSERT_EQ(run.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(run.out[4 * lane], 32 + (lane ^ 5));
    EXPECT_EQ(run.out[4 * lane + 1], 1032 + (lane ^ 5));
    EXPECT_EQ(run.out[4 * lane + 2], 32 + (lane + 1) % 32);
    EXPECT_EQ(run.out[4 * lane + 3], 496u);
  }
}

TEST(Interpreter, AsyncCopiesArriveGroupByGroup) {
  ExpectWords(
      {},
      [](CaseBuilder& io) {
        Builder& b = io.b;
        const uint32_t s = b.AddShared("s", 1024);
        const Value slot = b.Lane() * 16;
        b.AsyncCopy(s, slot, io.in, b.Wide(slot), b.Lane() < 20);
        b.AsyncCommit();
        b.AsyncCopy(s, slot + 512, io.in, b.Wide(slot));
        b.AsyncCommit();
        b.AsyncWait(1);  // the first group
        b.Barrier();
        const Value first = b.LoadShared("first", kU32, s, b.U32(496) - slot);
        b.AsyncWait(0);
        const Value own = b.LoadShared("own", kU32, s, slot + 516);  // the copying thread needs no barrier
        io.Out(first * 1000 + own);
      },
      [](uint32_t t) { return (31 - t < 20 ? (31 - t) * 4 : 0) * 1000 + 4 * t + 1; });
}

TEST(Interpreter, MmaRunsInEachActiveWarp) {
  const CaseRun run = RunCase({.warps = 2}, [](CaseBuilder& io) {
    Builder& b = io.b;
    b.Comment("all ones: each sum is 16, added to what was there");
    b.If(b.Warp() == 1, Uniform::kWarp, [&] {
      const Reg d = b.Declare("d", kI32x4);
      b.Set(d, b.Vector({b.I32(0), b.I32(1), b.I32(2), b.Cast(kI32, b.Lane())}));
      b.Mma(MmaKind::kS8S8K16, d, b.Vector({b.U32(0x01010101), b.U32(0xFFFFFFFF)}), b.U32(0x01010101), d);
      b.Store(io.out, b.Wide(b.Lane()) * 16, d);
    });
  });
  ASSERT_EQ(run.error, "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(std::vector<uint32_t>(&run.out[4 * lane], &run.out[4 * lane + 4]),
              (std::vector<uint32_t>{16, 17, uint32_t(-14), lane - 16}));
  }
}

TEST(Interpreter, OrderOfTilesDoesNotMatter) {
  const auto body = [](CaseBuilder& io) {
    Builder& b = io.b;
    const Value at = io.Word(b.Tile() * 32 + b.Thread());
    const uint32_t s = b.AddShared("s", 128);
    b.StoreShared(s, b.Thread() * 4, b.Load("x", kU32, io.both, at));
    b.Barrier();
    b.Store(io.both, at, b.LoadShared("y", kU32, s, b.U32(124) - b.Thread() * 4) * 3 + b.Tile());
  };
  const CaseRun first = RunCase({.tiles = 32}, body);
  ASSERT_EQ(first.error, "");
  for (uint32_t i = 0; i < 1024; ++i) EXPECT_EQ(first.both[i], (i ^ 31) * 3 + i / 32);
  for (uint64_t seed = 1; seed < 8; ++seed) {
    const CaseRun run = RunCase({.tiles = 32, .seed = seed}, body);
    EXPECT_EQ(run.error, "");
    EXPECT_EQ(run.both, first.both) << "seed " << seed;
  }
}

// The seed does change the order: the first tile that fails is not always tile 0.
TEST(Interpreter, SeedShufflesTiles) {
  const auto body = [](CaseBuilder& io) { io.b.Store(io.in, io.Word(io.b.Thread()), io.b.U32(0)); };
  EXPECT_NE(RunCase({.tiles = 32}, body).error.find("tile 0,"), std::string::npos);
  bool other = false;
  for (uint64_t seed = 1; seed < 5; ++seed)
    other = other || RunCase({.tiles = 32, .seed = seed}, body).error.find("tile 0,") == std::string::npos;
  EXPECT_TRUE(other);
}

TEST(Interpreter, EvaluatesOverParams) {
  Builder b({});
  const Value n = b.U32Param("n", 0, 100), m = b.U32Param("m", 0, 100);
  const Value bytes = b.Wide(b.Select(n < m, b.DivideUp(n, 8), m)) * 12;
  const uint32_t small[] = {9, 50}, large[] = {70, 50};
  EXPECT_EQ(EvaluateOverParams(b.kernel(), bytes.id, small), 24u);
  EXPECT_EQ(EvaluateOverParams(b.kernel(), bytes.id, large), 600u);
}

}  // namespace
}  // namespace quern::kernels::ir
