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
        io.b.AsyncCommit();
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

// ---- Shared memory; its races have their own tests.

TEST(InterpreterFault, SharedBoundsAndAlignment) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const uint32_t s = io.b.AddShared("s", 128);
        io.b.AddShared("neighbour", 128);  // must not be reached through s
        io.b.StoreShared(s, io.b.Lane() * 4 + (broken ? 4 : 0), io.b.U32(1));
      },
      "thread 31: out of bounds: 4 bytes at 128 of 128", "store to s");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.LoadShared("x", kU32, io.b.AddShared("s", 128), io.b.Lane() * 4 + (broken ? 4 : 0));
      },
      "thread 31: out of bounds: 4 bytes at 128 of 128", "load of s to x");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.StoreShared(io.b.AddShared("s", 128), io.b.U32(broken ? 6 : 4), io.b.U32(1), io.b.Lane() == 0);
      },
      "offset 6 is no multiple of 4", "store to s");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.LoadShared("x", kU32x2, io.b.AddShared("s", 128), io.b.U32(broken ? 4 : 8));
      },
      "offset 4 is no multiple of 8", "load of s to x");
  for (const bool at_source : {false, true}) {
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          const uint32_t wrong = broken ? 8 : 0, s = io.b.AddShared("s", 1024);
          io.b.AsyncCopy(s, io.b.Lane() * 16 + (at_source ? 0 : wrong), io.in, io.b.U64(at_source ? wrong : 0));
          io.b.AsyncCommit();
        },
        "offset 8 is no multiple of 16", "asynchronous copy to s");
    ExpectCaught(
        {},
        [&](CaseBuilder& io, bool broken) {
          const uint32_t far = broken ? 4096 : 0, s = io.b.AddShared("s", 512);
          io.b.AsyncCopy(s, io.b.Lane() * 16 + (at_source ? 0 : far), io.in, io.b.U64(at_source ? far : 0));
          io.b.AsyncCommit();
        },
        "out of bounds: 16 bytes at 4096", "asynchronous copy to s");
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
  with_register("the assignment uses a value that was never set", "set x",
                [](CaseBuilder& io, Value r) { io.b.Let("x", r); });
  with_register("the assignment uses a value that was never set", "set x", [](CaseBuilder& io, Value r) {
    io.b.Let("x", io.b.Select(io.b.Lane() == 3, (r ^ r) + 1, io.b.U32(0)));  // nor may it cancel out
  });
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

// A select that does not take it, and a store whose predicate is false, do not use a value.
TEST(InterpreterFault, PoisonThatIsNotUsed) {
  const CaseRun run = RunCase({}, [](CaseBuilder& io) {
    Builder& b = io.b;
    const Reg r = b.Declare("r", kU32);
    b.If(b.Lane() < 16, Uniform::kThread, [&] { b.Set(r, b.Lane()); });
    b.Let("chosen", b.Select(b.Lane() < 16, Value(r) + 1, b.U32(7)));
    b.Store(io.out, io.Word(b.Lane()), Value(r) + 1, b.Lane() < 16);
    b.StoreShared(b.AddShared("s", 128), b.Lane() * 4, r, b.Lane() < 16);
    b.LoadShared("unwritten", kU32, b.AddShared("t", 128), b.Lane() * 4);
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

// Operands that do not fit the statement: nothing is read beyond them.
TEST(InterpreterFault, TypesThatDoNotFit) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const Value zero = io.b.I32(0), one = io.b.U32(1);
        io.b.Mma(MmaKind::kS8S8K16, io.b.Declare("d", kI32x4), broken ? one : io.b.Vector({one, one}), one,
                 io.b.Vector({zero, zero, zero, zero}));
      },
      "an operand of the mma has another type than its kind", "mma to d");
  Builder b({});
  const Reg r = b.Declare("r", kU32x4);
  b.Set(r, b.Vector({b.Lane(), b.Lane(), b.Lane(), b.Lane()}));
  Kernel kernel = std::move(b).Finish(b.U32(1));
  EXPECT_TRUE(Interpret(kernel, {}).has_value());
  kernel.registers[0].type = kU32x2;
  const Status status = Interpret(kernel, {});
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("the value has another type than its register"), std::string::npos);
}

// Kernel, tile, thread, rule and numbers, the place, and the statement's line.
TEST(InterpreterFault, TheWholeMessage) {
  Builder b({.warps = 2});
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(512));
  b.If(b.Warp() == 1, Uniform::kWarp, [&] { b.Store(y, b.Wide(b.Tile() * 64 + b.Thread()) * 4, b.U32(1)); });
  Kernel kernel = std::move(b).Finish(b.U32(3));
  kernel.id = "test.whole";
  std::vector<uint32_t> words(128);
  Launch launch;
  launch.buffers = {std::as_writable_bytes(std::span(words))};
  const Status status = Interpret(kernel, launch);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message,
            "kernel test.whole: tile 2, thread 32: out of bounds: 4 bytes at 640 of 512 (at store to y): "
            "store y[mul(cast.u64(add(mul(tile, u32:0x40), thread)), u64:0x4)] = u32:0x1 if -");
}

}  // namespace
}  // namespace quern::kernels::ir
