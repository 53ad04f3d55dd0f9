// Who may touch which byte of global memory: one writer for each byte, readers of its tile with a barrier between,
// other tiles never. Each kernel passes, and fails after one change with a message that names the rule.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

void StoreOwn(CaseBuilder& io) { io.b.Store(io.both, io.Word(io.b.Thread()), io.b.Thread() + 500); }
Value LoadOf(CaseBuilder& io, Value thread) { return io.b.Load("x", kU32, io.both, io.Word(thread)); }

TEST(InterpreterGlobal, ReadOfWhatAnotherThreadWrote) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        StoreOwn(io);
        LoadOf(io, broken ? io.b.Lane() ^ 1 : io.b.Lane());
      },
      "thread 0: byte 4 is read, but was written by thread 1 with no barrier between", "load of both to x");
}

// Lanes step together here, so the read still finds the old value; on a device it may find either.
TEST(InterpreterGlobal, WriteOfWhatAnotherThreadRead) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        LoadOf(io, broken ? io.b.Lane() ^ 1 : io.b.Lane());
        StoreOwn(io);
      },
      "thread 0: byte 0 is written, but was read by thread 1 with no barrier between", "store to both");
  // Many readers are fine while nobody writes; the one who reads last does not hide the others.
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Load("x", kU32, io.both, io.b.U64(64));
        io.b.Load("y", kU32, io.both, io.b.U64(64));
        io.b.Store(io.both, io.b.U64(broken ? 64 : 68), io.b.U32(1), io.b.Lane() == 31);
      },
      "thread 31: byte 64 is written, but was read by several threads with no barrier between", "store to both");
}

TEST(InterpreterGlobal, BarrierOrdersTheThreadsOfATile) {
  const auto reversed = [](CaseBuilder& io, bool broken) {
    StoreOwn(io);
    if (!broken) io.b.Barrier();
    io.Out(LoadOf(io, io.b.U32(63) - io.b.Thread()));
  };
  ExpectCaught({.warps = 2}, reversed,
               "thread 0: byte 252 is read, but was written by thread 63 with no barrier between", "load of both to x");
  const CaseRun run = RunCase({.warps = 2}, [&](CaseBuilder& io) { reversed(io, false); });
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(run.out[t], 563 - t);
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        LoadOf(io, io.b.U32(63) - io.b.Thread());
        if (!broken) io.b.Barrier();
        StoreOwn(io);
      },
      "thread 0: byte 0 is written, but was read by thread 63 with no barrier between", "store to both");
  // Also many readers, in the epoch before or two epochs ago.
  for (const bool late_reader : {false, true}) {
    ExpectCaught(
        {.warps = 2},
        [&](CaseBuilder& io, bool broken) {
          LoadOf(io, io.b.U32(3));
          if (!broken) io.b.Barrier();
          if (late_reader) io.b.If(io.b.Thread() == 9, Uniform::kThread, [&] { LoadOf(io, io.b.U32(3)); });
          io.b.Store(io.both, io.b.U64(12), io.b.U32(1), io.b.Thread() == 9);
        },
        "thread 9: byte 12 is written, but was read by several threads with no barrier between", "store to both");
  }
}

// WarpSync orders shared memory only.
TEST(InterpreterGlobal, WarpSyncOrdersNoGlobalMemory) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        StoreOwn(io);
        if (broken)
          io.b.WarpSync();
        else
          io.b.Barrier();
        LoadOf(io, io.b.Lane() ^ 1);
      },
      "thread 0: byte 4 is read, but was written by thread 1 with no barrier between", "load of both to x");
}

TEST(InterpreterGlobal, TwoWritersWhateverTheBarriers) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        StoreOwn(io);
        io.b.Barrier();
        io.b.Store(io.both, io.Word(broken ? io.b.Lane() ^ 1 : io.b.Lane()), io.b.U32(1));
      },
      "thread 0: byte 4 is written by two threads: before by thread 1 of tile 0", "store to both");
}

// A thread of one number is another thread in another tile.
TEST(InterpreterGlobal, SameThreadOfTwoTilesWritesTwice) {
  ExpectCaught(
      {.tiles = 2},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, io.Word(io.b.Lane() + io.b.Tile() * (broken ? 0 : 32)), io.b.U32(1));
      },
      "tile 1, thread 0: byte 0 is written by two threads: before by thread 0 of tile 0", "store to out");
}

// Whatever the order of the tiles, and whatever barriers they pass.
TEST(InterpreterGlobal, TilesThatDependOnEachOther) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (const uint32_t distance : {0u, 32u}) {
      const CaseRun run = RunCase({.tiles = 2, .seed = seed}, [&](CaseBuilder& io) {
        const Value at = io.b.Tile() * 32 + io.b.Lane();
        const Value x = LoadOf(io, at + distance);
        io.b.Barrier();
        io.b.Store(io.both, io.Word(at), x);
        io.b.Barrier();
      });
      if (distance == 0)
        EXPECT_EQ(run.error, "");
      else
        EXPECT_NE(run.error.find("byte 128 is "), std::string::npos) << "seed " << seed << ": " << run.error;
    }
  }
}

// A byte that every tile reads, and the last one writes.
TEST(InterpreterGlobal, ReadersOfSeveralTiles) {
  ExpectCaught(
      {.tiles = 3},
      [](CaseBuilder& io, bool broken) {
        LoadOf(io, io.b.U32(5));
        io.b.Barrier();
        io.b.Store(io.both, io.b.U64(20), io.b.U32(1), (io.b.Lane() == 0) & (io.b.Tile() == (broken ? 2 : 9)));
      },
      "tile 2, thread 0: byte 20 is written, but was read by several tiles", "store to both");
}

// The last bytes of a buffer whose size is no multiple of the access.
TEST(InterpreterGlobal, RaggedEnd) {
  const auto load = [](Type type, uint64_t offset, uint64_t bytes) {
    Builder b({});
    b.Load("x", type, b.AddBuffer("x", Access::kRead, b.U64(bytes)), b.U64(offset));
    const Kernel kernel = std::move(b).Finish(b.U32(1));
    std::vector<uint32_t> words(8);
    Launch launch;
    launch.buffers = {std::as_writable_bytes(std::span(words))};
    return Interpret(kernel, launch).has_value();
  };
  for (const Type type : {kU8, kU16, kU32, kU64, kU32x4}) {
    const uint64_t size = static_cast<uint64_t>(BytesOf(type));
    EXPECT_TRUE(load(type, size, 2 * size));
    EXPECT_FALSE(load(type, size, 2 * size - 1)) << size;
    EXPECT_FALSE(load(type, size, size)) << size;
  }
}

// ---- Options.

class InterpreterComplete : public testing::Test {
 protected:
  // y[i] = 1 for i < n - missing; the buffers lie `distance` bytes apart.
  std::string Run(uint32_t missing, std::vector<uint32_t> written_in_full, size_t distance = 128) {
    Builder b({});
    const Value n = b.U32Param("n", 1, 32);
    const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(n) * 4);
    const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(n) * 4);
    b.AddBuffer("z", Access::kReadWrite, b.U64(0));
    const Value inside = b.Lane() + missing < n;
    b.Store(y, b.Wide(b.Lane()) * 4, b.Load("v", kU32, x, b.Wide(b.Lane()) * 4, inside), inside);
    const Kernel kernel = std::move(b).Finish(b.U32(1));
    std::vector<uint32_t> words(64);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
    Launch launch;
    launch.params = {20};
    launch.buffers = {bytes.first(128), bytes.subspan(distance), bytes.subspan(16, 0)};
    const Status status = Interpret(kernel, launch, {.written_in_full = std::move(written_in_full)});
    return status.has_value() ? "" : status.error().message;
  }
};

TEST_F(InterpreterComplete, EveryByteOfAnOutput) {
  EXPECT_EQ(Run(0, {1, 2}), "");
  EXPECT_EQ(Run(1, {}), "");
  EXPECT_EQ(Run(1, {2, 1}), "kernel : byte 76 of the 80 of buffer y was not written");
  EXPECT_EQ(Run(20, {1}), "kernel : byte 0 of the 80 of buffer y was not written");
}

// 80 bytes of each are used.
TEST_F(InterpreterComplete, OverlappingBuffers) {
  EXPECT_EQ(Run(0, {}, 80), "");
  EXPECT_EQ(Run(0, {}, 64), "kernel : buffer y, which is written, overlaps buffer x");
  EXPECT_EQ(Run(0, {}, 0), "kernel : buffer y, which is written, overlaps buffer x");
}

}  // namespace
}  // namespace quern::kernels::ir
