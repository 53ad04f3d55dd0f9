// The interpreter catches each broken rule of global memory, control flow, values and the launch: a kernel that passes
// fails after one change, and the message names the rule and the statement.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

// ---- Global memory.

TEST(InterpreterFault, GlobalLoadOutOfBounds) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Load("x", kU32x4, io.in, io.b.Wide(io.b.Lane()) * 16 + (broken ? 3600 : 3584));
      },
      "thread 31: out of bounds: 16 bytes at 4096 of 4096", "load of in to x");
}

TEST(InterpreterFault, GlobalStoreOutOfBounds) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, io.Word(io.b.Lane() + (broken ? 993 : 992)), io.b.U32(1));
      },
      "thread 31: out of bounds: 4 bytes at 4096 of 4096", "store to out");
}

// The end of such an access wraps around to a small number.
TEST(InterpreterFault, GlobalOffsetNearTheEndOfU64) {
  const auto offset = [](CaseBuilder& io, bool broken) {
    return io.b.Wide(io.b.Lane()) * 16 - io.b.Wide(io.b.U32(broken ? 16 : 0));
  };
  ExpectCaught(
      {}, [&](CaseBuilder& io, bool broken) { io.b.Load("x", kU32x4, io.in, offset(io, broken)); },
      "thread 0: out of bounds: 16 bytes at 18446744073709551600 of 4096", "load of in to x");
  ExpectCaught(
      {},
      [&](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, offset(io, broken), io.b.Vector({io.b.U32(1), io.b.U32(2), io.b.U32(3), io.b.U32(4)}));
      },
      "thread 0: out of bounds: 16 bytes at 18446744073709551600 of 4096", "store to out");
}

TEST(InterpreterFault, MisalignedGlobalAccess) {
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Load("x", kU32, io.in, io.b.U64(broken ? 6 : 8)); },
      "offset 6 is no multiple of 4", "load of in to x");
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Load("x", kU32x4, io.in, io.b.U64(broken ? 24 : 32)); },
      "offset 24 is no multiple of 16", "load of in to x");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, io.b.U64(broken ? 1 : 2), io.b.Const(kU16, 5), io.b.Lane() == 0);
      },
      "offset 1 is no multiple of 2", "store to out");
}

TEST(InterpreterFault, AccessAgainstTheBuffersDirection) {
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Store(broken ? io.in : io.out, io.Word(io.b.Lane()), io.b.U32(1)); },
      "a store to a read-only buffer", "store to in");
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Load("x", kU32, broken ? io.out : io.in, io.b.U64(0)); },
      "a load from a write-only buffer", "load of out to x");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 512);
        io.b.AsyncCopy(s, io.b.Lane() * 16, broken ? io.out : io.in, io.b.U64(0));
      },
      "a load from a write-only buffer", "asynchronous copy to s");
}

TEST(InterpreterFault, TwoThreadsWriteOneByte) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, io.Word(broken ? io.b.Lane() % 31 : io.b.Lane()), io.b.U32(1));
      },
      "thread 31: byte 0 is written by two threads", "store to out");
  // Of two tiles, and the same value: no excuse.
  ExpectCaught(
      {.tiles = 2},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.out, io.Word(io.b.Tile() * (broken ? 31 : 32) + io.b.Lane()), io.b.U32(1));
      },
      "tile 1, thread 0: byte 124 is written by two threads", "store to out");
}

TEST(InterpreterFault, ReadOfWhatAnotherThreadWrote) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Store(io.both, io.Word(io.b.Lane()), io.b.U32(1));
        io.b.Load("x", kU32, io.both, io.Word(broken ? io.b.Lane() ^ 1 : io.b.Lane()));
      },
      "thread 0: byte 4 is read after another thread wrote it", "load of both to x");
}

// Lanes step together here, so the read still finds the old value; on a device it may find either.
TEST(InterpreterFault, WriteOfWhatAnotherThreadRead) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Load("x", kU32, io.both, io.Word(broken ? io.b.Lane() ^ 1 : io.b.Lane()));
        io.b.Store(io.both, io.Word(io.b.Lane()), io.b.U32(1));
      },
      "thread 0: byte 0 is written after another thread read it", "store to both");
  // Many readers are fine while nobody writes.
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.Load("x", kU32, io.both, io.b.U64(64));
        io.b.Load("y", kU32, io.both, io.b.U64(64));
        io.b.Store(io.both, io.b.U64(broken ? 64 : 68), io.b.U32(1), io.b.Lane() == 31);
      },
      "thread 31: byte 64 is written after another thread read it", "store to both");
}

// Whatever the order of the tiles.
TEST(InterpreterFault, TilesThatDependOnEachOther) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const CaseRun run = RunCase({.tiles = 2, .seed = seed}, [](CaseBuilder& io) {
      const Value at = io.b.Tile() * 32 + io.b.Lane();
      const Value x = io.b.Load("x", kU32, io.both, io.Word(at + 32));
      io.b.Store(io.both, io.Word(at), x);
    });
    EXPECT_NE(run.error.find("another thread"), std::string::npos) << "seed " << seed << ": " << run.error;
  }
}

// ---- Values.

TEST(InterpreterFault, RegisterThatNobodySet) {
  const auto with_register = [](const char* rule, const char* place,
                                const std::function<void(CaseBuilder&, Value)>& use) {
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          const Reg r = io.b.Declare("r", kU32);
          io.b.If(io.b.Lane() != (broken ? 3 : 99), Uniform::kThread, [&] { io.b.Set(r, io.b.Lane()); });
          use(io, r);
        },
        std::string("thread 3: ") + rule, place);
  };
  with_register("an output gets a value that was never set", "store to out",
                [](CaseBuilder& io, Value r) { io.Out(r); });
  with_register("the offset uses a value that was never set", "store to out",
                [](CaseBuilder& io, Value r) { io.b.Store(io.out, io.Word(r), io.b.U32(1)); });
  with_register("the offset uses a value that was never set", "load of in to x",
                [](CaseBuilder& io, Value r) { io.b.Load("x", kU32, io.in, io.Word(r)); });
  with_register("the predicate uses a value that was never set", "load of in to x",
                [](CaseBuilder& io, Value r) { io.b.Load("x", kU32, io.in, io.b.U64(0), r < 5); });
  with_register("the condition uses a value that was never set", "if",
                [](CaseBuilder& io, Value r) { io.b.If(r < 5, Uniform::kThread, [] {}); });
  with_register("the loop's begin uses a value that was never set", "for i", [](CaseBuilder& io, Value r) {
    io.b.For("i", r, io.b.U32(5), {.uniform = Uniform::kThread}, [](Value) {});
  });
  with_register("the loop's end uses a value that was never set", "for i", [](CaseBuilder& io, Value r) {
    io.b.For("i", io.b.U32(0), r, {.uniform = Uniform::kThread}, [](Value) {});
  });
  with_register("the shuffle uses a value that was never set", "shuffle to x",
                [](CaseBuilder& io, Value r) { io.b.ShuffleXor("x", r, 1); });
  with_register("the source lane uses a value that was never set", "shuffle to x",
                [](CaseBuilder& io, Value r) { io.b.ShuffleIndex("x", io.b.Lane(), r); });
  with_register("the mma uses a value that was never set", "mma to d", [](CaseBuilder& io, Value r) {
    const Value zero = io.b.I32(0);
    io.b.Mma(MmaKind::kU8S8K16, io.b.Declare("d", kI32x4), io.b.Vector({r, r}), r,
             io.b.Vector({zero, zero, zero, zero}));
  });
  with_register("the store uses a value that was never set", "store to s",
                [](CaseBuilder& io, Value r) { io.b.StoreShared(io.b.AddShared("s", 128), io.b.Lane() * 4, r); });
}

// To copy poison, and to store it nowhere, is no fault.
TEST(InterpreterFault, PoisonThatIsNotUsed) {
  const CaseRun run = RunCase({}, [](CaseBuilder& io) {
    Builder& b = io.b;
    const Reg r = b.Declare("r", kU32);
    b.If(b.Lane() < 16, Uniform::kThread, [&] { b.Set(r, b.Lane()); });
    const Value copy = b.Let("copy", Value(r) + 1);
    b.Store(io.out, io.Word(b.Lane()), copy, b.Lane() < 16);
    b.StoreShared(b.AddShared("s", 128), b.Lane() * 4, copy, b.Lane() < 16);
  });
  EXPECT_EQ(run.error, "");
}

TEST(InterpreterFault, DivisionByZeroAndShiftTooFar) {
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Let("x", io.b.U32(7) / (io.b.Lane() + (broken ? 0 : 1))); },
      "thread 0: division by 0", "set x");
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.Let("x", io.b.U32(1) << (io.b.Lane() + (broken ? 1 : 0))); },
      "thread 31: shift by 32", "set x");
}

// The statement is named wherever the expression stands.
TEST(InterpreterFault, ExpressionsInEveryPlaceNameTheirStatement) {
  const auto in_place = [](const char* place, const std::function<void(CaseBuilder&, Value)>& use) {
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          use(io, io.b.Let("shifted", io.b.U32(0)) + (io.b.U32(0) << (io.b.Lane() + (broken ? 1 : 0))));
        },
        "thread 31: shift by 32", place);
  };
  in_place("load of in to x", [](CaseBuilder& io, Value v) { io.b.Load("x", kU32, io.in, io.b.Wide(v)); });
  in_place("store to out", [](CaseBuilder& io, Value v) { io.b.Store(io.out, io.Word(io.b.Lane()), v); });
  in_place("if", [](CaseBuilder& io, Value v) { io.b.If(v < 1, Uniform::kThread, [] {}); });
  in_place("for i", [](CaseBuilder& io, Value v) {
    io.b.For("i", v, io.b.U32(0), {.uniform = Uniform::kThread}, [](Value) {});
  });
  in_place("store to s",
           [](CaseBuilder& io, Value v) { io.b.StoreShared(io.b.AddShared("s", 128), io.b.Lane() * 4, v); });
  in_place("shuffle to x", [](CaseBuilder& io, Value v) { io.b.ShuffleXor("x", v, 1); });
}

}  // namespace
}  // namespace quern::kernels::ir
