// The interpreter catches each broken rule of control flow and of the launch: a kernel that passes fails after one
// change, and the message names the rule and the statement.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter_case.h"

namespace quern::kernels::ir {
namespace {

// ---- Masks.

TEST(InterpreterControl, BarrierNeedsTheWholeBlock) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        io.b.If(io.b.Thread() < (broken ? 32 : 64), Uniform::kThread, [&] { io.b.Barrier(); });
      },
      "a barrier with 32 of 64 threads", "barrier");
}

TEST(InterpreterControl, WarpStatementsNeedWholeWarps) {
  const auto under_mask = [](const char* what, const char* place, const std::function<void(CaseBuilder&)>& body) {
    for (const uint32_t count : {1u, 16u, 31u}) {
      ExpectCaught(
          {.warps = 2},
          [&](CaseBuilder& io, bool broken) {
            io.b.If(io.b.Thread() < (broken ? 32 + count : 32), Uniform::kThread, [&] { body(io); });
          },
          std::string("thread 32: ") + what + " with " + std::to_string(count) + " of 32 threads", place);
    }
  };
  under_mask("a warp synchronisation", "warp_sync", [](CaseBuilder& io) { io.b.WarpSync(); });
  under_mask("a shuffle", "shuffle to x", [](CaseBuilder& io) { io.b.ShuffleXor("x", io.b.Lane(), 1); });
  under_mask("a shuffle", "shuffle to x", [](CaseBuilder& io) { io.b.ShuffleIndex("x", io.b.Lane(), io.b.U32(0)); });
  under_mask("an mma", "mma to d", [](CaseBuilder& io) {
    const Value zero = io.b.I32(0), one = io.b.U32(1);
    io.b.Mma(MmaKind::kS8S8K16, io.b.Declare("d", kI32x4), io.b.Vector({one, one}), one,
             io.b.Vector({zero, zero, zero, zero}));
  });
}

// A barrier after a loop that threads leave at different times is whole again; inside it is not.
TEST(InterpreterControl, BarrierInADivergentLoop) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.For("i", io.b.U32(0), io.b.Lane() + 1, {.uniform = Uniform::kThread}, [&](Value) {
          if (broken) io.b.Barrier();
        });
        io.b.Barrier();
      },
      "a barrier with 31 of 32 threads", "barrier");
}

TEST(InterpreterControl, ShuffleFromALaneThatIsNone) {
  ExpectCaught(
      {}, [](CaseBuilder& io, bool broken) { io.b.ShuffleIndex("x", io.b.Lane(), io.b.Lane() + (broken ? 1 : 0)); },
      "thread 31: a shuffle from lane 32", "shuffle to x");
  ExpectCaught(
      {.warps = 2}, [](CaseBuilder& io, bool broken) { io.b.ShuffleXor("x", io.b.Lane(), broken ? 32 : 31); },
      "thread 0: a shuffle from lane 32", "shuffle to x");
}

// ---- Claims of uniformity.

TEST(InterpreterControl, FalseClaimOnIf) {
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) {
        io.b.If(broken ? io.b.Thread() < 63 : io.b.Warp() < 1, Uniform::kWarp, [] {});
      },
      "thread 63: the condition differs among the threads of a warp", "if");
  ExpectCaught(
      {.warps = 2},
      [](CaseBuilder& io, bool broken) { io.b.If((broken ? io.b.Warp() : io.b.Tile()) < 1, Uniform::kBlock, [] {}); },
      "thread 32: the condition differs among the threads of a block", "if");
}

TEST(InterpreterControl, FalseClaimOnFor) {
  for (const bool at_end : {false, true}) {
    const std::string what = at_end ? "the loop's end" : "the loop's begin";
    const auto loop = [at_end](CaseBuilder& io, Value bound, Uniform uniform) {
      io.b.For("i", at_end ? io.b.U32(0) : bound, at_end ? bound : io.b.U32(5), {.uniform = uniform}, [](Value) {});
    };
    ExpectCaught(
        {.warps = 2},
        [&](CaseBuilder& io, bool broken) { loop(io, broken ? io.b.Thread() / 16 : io.b.Warp(), Uniform::kWarp); },
        "thread 16: " + what + " differs among the threads of a warp", "for i");
    ExpectCaught(
        {.warps = 2},
        [&](CaseBuilder& io, bool broken) { loop(io, broken ? io.b.Warp() : io.b.Tile(), Uniform::kBlock); },
        "thread 32: " + what + " differs among the threads of a block", "for i");
  }
}

// A claim is about the threads that arrive at the statement.
TEST(InterpreterControl, ClaimsCountActiveThreadsOnly) {
  EXPECT_EQ(RunCase({},
                    [](CaseBuilder& io) {
                      io.b.If(io.b.Lane() < 8, Uniform::kThread, [&] {
                        io.b.If(io.b.Lane() < 8, Uniform::kWarp, [] {});
                        io.b.For("i", io.b.Lane() / 8, io.b.U32(2), {.uniform = Uniform::kWarp}, [](Value) {});
                      });
                    })
                .error,
            "");
}

// ---- Loops.

TEST(InterpreterControl, LoopVariableOverflows) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        io.b.For("i", io.b.U32(0xFFFFFFF1), io.b.U32(broken ? 0xFFFFFFFF : 0xFFFFFFF5), {.step = 5},
                 [&](Value) { io.b.Let("last", io.b.U32(1)); });
      },
      "the loop variable overflows", "for i");
}

// Emitted text reads the end before each pass.
TEST(InterpreterControl, BodyThatMovesTheLoop) {
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const Reg end = io.b.Declare("end", kU32), other = io.b.Declare("other", kU32);
        io.b.Set(end, io.b.U32(5));
        io.b.For("i", io.b.U32(0), end, {}, [&](Value i) { io.b.Set(broken ? end : other, i + 2); });
      },
      "the body changes the loop's end", "for i");
  ExpectCaught(
      {},
      [](CaseBuilder& io, bool broken) {
        const Reg other = io.b.Declare("other", kU32);
        io.b.For("i", io.b.U32(0), io.b.U32(5), {}, [&](Value i) {
          const Reg var{&io.b, static_cast<RegId>(io.b.kernel().expr(i.id).value)};
          io.b.Set(broken ? var : other, i + 1);
        });
      },
      "the body writes the loop variable", "for i");
}

// ---- The launch.

class InterpreterLaunch : public testing::Test {
 protected:
  InterpreterLaunch() {
    Builder b({});
    const Value n = b.U32Param("n", 4, 64, 4);
    b.F32Param("scale");
    const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(n) * 4);
    b.Store(y, b.Wide(b.Tile()) * 4, b.Tile(), b.Lane() == 0);
    kernel_ = std::move(b).Finish(n);
    kernel_.id = "test.launch";
  }
  Status Run(uint32_t n, size_t bytes, size_t skip = 0) {
    Launch launch;
    launch.params = {n, 0x7FC00000};  // an f32 has no range
    launch.buffers = {std::as_writable_bytes(std::span(words_)).subspan(skip, bytes)};
    return Interpret(kernel_, launch);
  }
  void ExpectRefused(const Status& status, const std::string& message) {
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
    EXPECT_EQ(status.error().message, message);
  }
  Kernel kernel_;
  std::vector<uint32_t> words_ = std::vector<uint32_t>(80, kUntouched);
};

TEST_F(InterpreterLaunch, WithinItsContract) {
  for (const uint32_t n : {4u, 8u, 64u}) EXPECT_TRUE(Run(n, n * 4).has_value());
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words_[i], i);
}

TEST_F(InterpreterLaunch, ParameterOutOfRange) {
  for (const uint32_t n : {0u, 6u, 68u}) {
    ExpectRefused(Run(n, 256),
                  "kernel test.launch: n is " + std::to_string(n) + "; it must be within 4 and 64 and a multiple of 4");
  }
}

TEST_F(InterpreterLaunch, ParameterJustOutsideOfItsRange) {
  kernel_.params[0].multiple_of = 1;
  for (const uint32_t n : {4u, 64u}) EXPECT_TRUE(Run(n, 320).has_value());
  for (const uint32_t n : {3u, 65u}) EXPECT_FALSE(Run(n, 320).has_value()) << n;
}

TEST_F(InterpreterLaunch, BufferTooSmallOrMisaligned) {
  ExpectRefused(Run(8, 31), "kernel test.launch: buffer y has 31 bytes, 32 are needed");
  ExpectRefused(Run(8, 32, 4), "kernel test.launch: buffer y is not aligned to 16 bytes");
  EXPECT_EQ(words_[0], kUntouched);
}

// What the host happens to have allocated beyond min_bytes is out of bounds all the same.
TEST_F(InterpreterLaunch, BytesBeyondTheDeclaredOnes) {
  Builder b({});
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(32));
  b.Store(y, b.U64(32), b.U32(1), b.Lane() == 0);
  kernel_ = std::move(b).Finish(b.U32(1));
  Launch launch;
  launch.buffers = {std::as_writable_bytes(std::span(words_))};
  const Status status = Interpret(kernel_, launch);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("out of bounds: 4 bytes at 32 of 32"), std::string::npos);
  EXPECT_EQ(words_[8], kUntouched);
}

}  // namespace
}  // namespace quern::kernels::ir
