// Races and other faults of shared memory: each kernel passes, and fails after one change (a barrier taken away, put in
// the wrong place, or made too weak) with a message that names the rule.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

// The bytes of a warp's or a block's words.
Value Own(CaseBuilder& io) { return io.b.Thread() * 4; }

TEST(InterpreterRace, ReadBeforeWritten) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 128);
        io.b.StoreShared(s, Own(io), io.b.Lane(), io.b.Lane() != (broken ? 9 : 99));
        io.Out(io.b.LoadShared("x", kU32, s, Own(io)));
      },
      "thread 9: an output gets a value that was never set", "store to out");
  // One byte of a word is enough, whichever it is.
  for (uint32_t missing = 0; missing < 4; ++missing) {
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          const uint32_t s = io.b.AddShared("s", 128);
          for (uint32_t i = 0; i < 4; ++i) {
            if (!broken || i != missing) io.b.StoreShared(s, Own(io) + i, io.b.Cast(kU8, io.b.Lane()));
          }
          io.Out(io.b.LoadShared("x", kU32, s, Own(io)));
        },
        "thread 0: an output gets a value that was never set", "store to out");
  }
}

// What an earlier tile left is nothing that a tile may count on.
TEST(InterpreterRace, SharedMemoryBeginsUnwrittenInEachTile) {
  ExpectCaught(
      {.tiles = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 128);
        io.b.If(io.b.Tile() < (broken ? 1 : 2), Uniform::kBlock, [&] { io.b.StoreShared(s, Own(io), io.b.Lane()); });
        io.b.Store(io.out, io.Word(io.b.Tile() * 32 + io.b.Lane()), io.b.LoadShared("x", kU32, s, Own(io)));
      },
      "tile 1, thread 0: an output gets a value that was never set", "store to out");
}

TEST(InterpreterRace, TwoThreadsWriteOneByteInOneStatement) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.StoreShared(io.b.AddShared("s", 128), (broken ? io.b.Lane() % 31 : io.b.Lane()) * 4, io.b.U32(1));
      },
      "thread 31: race: byte 0 was written by thread 0 with no barrier between", "store to s");
}

// The message names the byte that conflicts, not the beginning of the access.
TEST(InterpreterRace, NamesTheByte) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 128);
        io.b.StoreShared(s, io.b.U32(4 + 3), io.b.Const(kU8, 1), io.b.Lane() == 2);
        if (!broken) io.b.WarpSync();
        io.b.LoadShared("x", kU32x2, s, io.b.U32(0));
      },
      "thread 0: race: byte 7 was written by thread 2 with no barrier between", "load of s to x");
}

// The three kinds of conflict, ordered by a barrier between two warps or by a WarpSync within one.
enum class Fence { kBarrier, kWarpSync };
class InterpreterRaceFence : public testing::TestWithParam<Fence> {
 protected:
  CaseOptions options() const { return {.warps = 2}; }
  // A thread's word and its partner's: of the other warp where a barrier orders, of the same where WarpSync does.
  Value Partner(CaseBuilder& io) const { return (io.b.Thread() ^ (GetParam() == Fence::kBarrier ? 32 : 1)) * 4; }
  void Order(CaseBuilder& io, bool present) const {
    if (!present) return;
    if (GetParam() == Fence::kBarrier)
      io.b.Barrier();
    else
      io.b.WarpSync();
  }
  std::string Other(uint32_t thread) const { return std::to_string(thread ^ (GetParam() == Fence::kBarrier ? 32 : 1)); }
};

TEST_P(InterpreterRaceFence, WriteThenRead) {
  ExpectCaught(
      options(),
      [&](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        Order(io, !broken);
        io.Out(io.b.LoadShared("x", kU32, s, Partner(io)));
      },
      "thread 0: race: byte " + std::to_string(4 * std::stoi(Other(0))) + " was written by thread " + Other(0) +
          " with no barrier between",
      "load of s to x");
}

TEST_P(InterpreterRaceFence, WriteThenWrite) {
  ExpectCaught(
      options(),
      [&](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        Order(io, !broken);
        io.b.StoreShared(s, Partner(io), io.b.Lane());
      },
      "thread 0: race: byte " + std::to_string(4 * std::stoi(Other(0))) + " was written by thread " + Other(0) +
          " with no barrier between",
      "store to s");
}

TEST_P(InterpreterRaceFence, ReadThenWrite) {
  ExpectCaught(
      options(),
      [&](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        Order(io, true);
        io.b.LoadShared("x", kU32, s, Partner(io));
        Order(io, !broken);
        io.b.StoreShared(s, Own(io), io.b.Lane());
      },
      "thread 0: race: byte 0 was read by thread " + Other(0) + " with no barrier between", "store to s");
}

// Several readers: the one who reads last must not hide the others.
TEST_P(InterpreterRaceFence, ManyReadThenOneOfThemWrites) {
  ExpectCaught(
      options(),
      [&](CaseBuilder& io, bool broken) {
        Builder& b = io.b;
        const uint32_t s = b.AddShared("s", 256);
        b.StoreShared(s, Own(io), b.Lane());
        Order(io, true);
        b.LoadShared("x", kU32, s, Partner(io));
        b.LoadShared("y", kU32, s, Own(io));
        Order(io, !broken);
        b.StoreShared(s, Own(io), b.Lane());
      },
      "thread 0: race: byte 0 was read by several threads with no barrier between", "store to s");
}

// A loop that uses one buffer in each pass needs two barriers; with one, pass n + 1 writes what pass n reads.
TEST_P(InterpreterRaceFence, LoopWithOneOfItsTwoBarriers) {
  ExpectCaught(
      options(),
      [&](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.For("i", io.b.U32(0), io.b.U32(3), {}, [&](Value i) {
          io.b.StoreShared(s, Own(io), i);
          Order(io, true);
          io.b.LoadShared("x", kU32, s, Partner(io));
          Order(io, !broken);
        });
      },
      "was read by thread " + Other(0) + " with no barrier between", "store to s");
}

INSTANTIATE_TEST_SUITE_P(Fences, InterpreterRaceFence, testing::Values(Fence::kBarrier, Fence::kWarpSync));

// Sums of the warps, added by warp 0: the common reduction of a block.
TEST(InterpreterRace, BlockReductionWithoutItsBarrier) {
  const auto reduction = [](CaseBuilder& io, bool broken) {
    Builder& b = io.b;
    const uint32_t s = b.AddShared("s", 16);
    const auto add = [](Value x, Value y) { return x + y; };
    const Value sum = b.WarpReduce("sum", b.Thread() * 3 + 1, add);
    b.StoreShared(s, b.Warp() * 4, sum, b.Lane() == 0);
    if (!broken) b.Barrier();
    b.If(b.Warp() == 0, Uniform::kWarp, [&] {
      const Value part = b.LoadShared("part", kU32, s, b.Lane() % 4 * 4);
      b.Store(io.out, b.U64(0), b.WarpReduce("total", part, add, 2), b.Lane() == 0);
    });
  };
  const CaseRun run = RunCase({.warps = 4}, [&](CaseBuilder& io) { reduction(io, false); });
  EXPECT_EQ(run.out[0], 3u * 127 * 64 + 128);
  ExpectCaught({.warps = 4}, reduction, "thread 1: race: byte 4 was written by thread 32 with no barrier between",
               "load of s to part");
}

TEST(InterpreterRace, WarpSyncDoesNotOrderOtherWarps) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        if (broken)
          io.b.WarpSync();
        else
          io.b.Barrier();
        io.b.LoadShared("x", kU32, s, (io.b.Thread() ^ 32) * 4);
      },
      "race: byte 128 was written by thread 32 with no barrier between", "load of s to x");
}

// Nor does one that only the other warp passes.
TEST(InterpreterRace, WarpSyncCountsForTheWarpThatPassesIt) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 256);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        io.b.If(io.b.Warp() < (broken ? 1 : 2), Uniform::kWarp, [&] { io.b.WarpSync(); });
        io.b.LoadShared("x", kU32, s, (io.b.Thread() ^ 1) * 4);
      },
      "thread 32: race: byte 132 was written by thread 33 with no barrier between", "load of s to x");
}

// Readers of both warps: the last one is of the writer's warp and ordered by its WarpSync, the first ones are not.
TEST(InterpreterRace, ReadersOfSeveralWarps) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 16);
        io.b.StoreShared(s, io.b.U32(0), io.b.U32(1), io.b.Thread() == 0);
        io.b.Barrier();
        io.b.LoadShared("x", kU32, s, io.b.U32(0));
        if (broken)
          io.b.WarpSync();
        else
          io.b.Barrier();
        io.b.StoreShared(s, io.b.U32(0), io.b.U32(2), io.b.Thread() == 63);
      },
      "thread 63: race: byte 0 was read by several threads with no barrier between", "store to s");
}

// Readers of one warp, and a writer of another that has passed a WarpSync of its own.
TEST(InterpreterRace, WarpSyncOfTheWriterDoesNotOrderReaders) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 16);
        io.b.If(io.b.Warp() == 0, Uniform::kWarp, [&] { io.b.LoadShared("x", kU32, s, io.b.U32(0)); });
        if (!broken) io.b.Barrier();
        io.b.If(io.b.Warp() == 1, Uniform::kWarp, [&] { io.b.WarpSync(); });
        io.b.StoreShared(s, io.b.U32(0), io.b.U32(2), io.b.Thread() == 63);
      },
      "thread 63: race: byte 0 was read by several threads with no barrier between", "store to s");
}

TEST(InterpreterRace, ShufflesOrderNoMemory) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 128);
        io.b.StoreShared(s, Own(io), io.b.Lane());
        if (broken)
          io.b.ShuffleXor("y", io.b.Lane(), 1);
        else
          io.b.WarpSync();
        io.b.LoadShared("x", kU32, s, Own(io) ^ 4);
      },
      "race: byte 4 was written by thread 1 with no barrier between", "load of s to x");
}

}  // namespace
}  // namespace quern::kernels::ir
