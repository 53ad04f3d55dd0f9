// The rules that need no arithmetic: V1 types, V2 assignment, V3 uniformity, V6 resources, V10 use, V11 narrow floats.
// Each mutation differs in one place from a kernel that passes.
#include <gtest/gtest.h>

#include "kernels/ir/verify_cases.h"

namespace quern::kernels::ir {
namespace {

TEST(VerifySimple, GoodKernelsPass) {
  for (const Kernel& k : {Elementwise(), RowNorm(), QuantVector(), Panel(), Gather(), TwoDimensional()})
    EXPECT_EQ(Codes(k), "") << Explain(k);
}

// y[thread] = value, one tile; `make` gives the value.
template <typename Make>
Kernel OneStore(const Make& make) {
  Builder b({.warps = 2});
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(256));
  b.Store(y, b.Wide(b.Thread()) * 4, make(b));
  return std::move(b).Finish(b.U32(1));
}

TEST(VerifyTypes, OperandsOfOneType) {
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.U32(1); })), "");
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.Make(Op::kAdd, kU32, {b.U32(1), b.F32(1)}); })), "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.Make(Op::kMod, kF32, {b.F32(1), b.F32(1)}); })), "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              return b.Make(Op::kSelect, kU32, {b.U32(1), b.U32(1), b.U32(1)});
            })),
            "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.Make(Op::kParam, kU32, {}, 0); })), "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.Make(Op::kAdd, kU32, {b.U32(1)}); })), "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) { return b.Make(Op::kReg, kU32, {}, 7); })), "V1");
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              const Value small = b.Cast(kU8, b.Thread());
              return b.Cast(kU32, b.Make(Op::kAdd, kU8, {small, small}));
            })),
            "V1")
      << "arithmetic on u8";
}

TEST(VerifyTypes, AccessRightsAndIndices) {
  Kernel k = Elementwise();
  k.buffers[0].access = Access::kWrite;
  EXPECT_EQ(Codes(k), "V1");
  k = Elementwise();
  k.buffers[1].access = Access::kRead;
  EXPECT_EQ(Codes(k), "V1");
  k = Elementwise();
  k.buffers.pop_back();
  EXPECT_EQ(Codes(k), "V1");
  k = Elementwise();
  k.params[0].min = 1 << 20;
  EXPECT_EQ(Codes(k), "V1") << "an empty range";
  k = Elementwise();
  k.num_tiles = kNoExpr;
  EXPECT_EQ(Codes(k), "V1");
}

TEST(VerifyTypes, LoopsLeaveTheirBoundsAlone) {
  const auto loop = [](bool set_bound, bool set_var) {
    return OneStore([&](Builder& b) {
      const Reg end = b.Declare("end", kU32), sum = b.Declare("sum", kU32);
      b.Set(end, b.U32(4));
      b.Set(sum, b.U32(0));
      b.For("i", b.U32(0), end, {}, [&](Value i) {
        b.Set(sum, Value(sum) + i);
        if (set_bound) b.Set(end, b.U32(3));
        if (set_var) b.Set({&b, static_cast<RegId>(b.kernel().expr(i.id).value)}, b.U32(1));
      });
      return Value(sum);
    });
  };
  EXPECT_EQ(Codes(loop(false, false)), "");
  EXPECT_EQ(Codes(loop(true, false)), "V1");
  EXPECT_EQ(Codes(loop(false, true)), "V1");
}

TEST(VerifyNarrowFloat, NoArithmetic) {
  const auto half = [](Builder& b) { return b.Cast(kF16, b.Cast(kF32, b.Thread())); };
  EXPECT_EQ(Codes(OneStore([&](Builder& b) { return b.Cast(kF32, half(b)); })), "");
  EXPECT_EQ(Codes(OneStore([&](Builder& b) {
              return b.Cast(kF32, b.Make(Op::kAdd, kF16, {half(b), half(b)}));
            })),
            "V11");
  EXPECT_EQ(Codes(OneStore([&](Builder& b) {
              return b.Cast(kF32, b.Make(Op::kMax, kF16, {half(b), half(b)}));
            })),
            "V11");
}

TEST(VerifyAssigned, BranchesMeet) {
  const auto kernel = [](bool set_else) {
    return OneStore([&](Builder& b) {
      const Reg v = b.Declare("v", kU32);
      b.If(
          b.Thread() < 5, Uniform::kThread, [&] { b.Set(v, b.U32(1)); },
          [&] {
            if (set_else) b.Set(v, b.U32(2));
          });
      return Value(v);
    });
  };
  EXPECT_EQ(Codes(kernel(true)), "");
  EXPECT_EQ(Codes(kernel(false)), "V2");
}

TEST(VerifyAssigned, LoopsMayNotRun) {
  const auto kernel = [](bool constant) {
    Builder b({.warps = 1});
    const Value n = b.U32Param("n", 0, 8);
    const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(128));
    const Reg v = b.Declare("v", kU32);
    b.For("i", b.U32(0), constant ? b.U32(2) : n, {}, [&](Value i) { b.Set(v, i + n); });
    b.Store(y, b.Wide(b.Lane()) * 4, v);
    return std::move(b).Finish(b.U32(1));
  };
  EXPECT_EQ(Codes(kernel(true)), "");
  EXPECT_EQ(Codes(kernel(false)), "V2");
}

TEST(VerifyAssigned, TheBodyReadsWhatItSetsLater) {
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              const Reg v = b.Declare("v", kU32), w = b.Declare("w", kU32);
              b.For("i", b.U32(0), b.U32(2), {}, [&](Value i) {
                b.Set(w, Value(v) & 1);
                b.Set(v, i);
              });
              return Value(w);
            })),
            "V2");
}

TEST(VerifyUniform, EveryThreadArrives) {
  EXPECT_EQ(Codes(RowNorm(Fault::kDivergent)), "V3");
  EXPECT_EQ(Codes(QuantVector(Fault::kDivergent)), "V3");
  EXPECT_EQ(Codes(QuantVector(Fault::kFalseClaim)), "V3");
}

// A barrier under a condition on a register; `set` makes it.
template <typename Make>
Kernel BarrierIf(Uniform claim, const Make& make) {
  return OneStore([&](Builder& b) {
    const Value flag = make(b);
    b.If(flag == 1, claim, [&] { b.Barrier(); });
    return flag;
  });
}

TEST(VerifyUniform, ValuesCarryTheirThreads) {
  EXPECT_EQ(Codes(BarrierIf(Uniform::kBlock, [](Builder& b) { return b.Let("f", b.Tile() & 1); })), "");
  EXPECT_EQ(Codes(BarrierIf(Uniform::kThread, [](Builder& b) { return b.Let("f", b.Tile() & 1); })), "V3");
  EXPECT_EQ(Codes(BarrierIf(Uniform::kBlock, [](Builder& b) { return b.Let("f", b.Warp() & 1); })), "V3");
  EXPECT_EQ(Codes(BarrierIf(Uniform::kWarp, [](Builder& b) { return b.Let("f", b.Warp() & 1); })), "V3");
  EXPECT_EQ(Codes(BarrierIf(Uniform::kBlock, [](Builder& b) { return b.Let("f", b.Thread() & 1); })), "V3");
}

TEST(VerifyUniform, DivergentControlTaintsWhatItSets) {
  const auto set_under = [](auto condition, Uniform claim) {
    return [=](Builder& b) -> Value {
      const Reg f = b.Declare("f", kU32);
      b.Set(f, b.U32(0));
      b.If(condition(b), claim, [&] { b.Set(f, b.U32(1)); });
      return f;
    };
  };
  EXPECT_EQ(Codes(BarrierIf(Uniform::kBlock, set_under([](Builder& b) { return b.Tile() < 3; }, Uniform::kBlock))), "");
  EXPECT_EQ(Codes(BarrierIf(Uniform::kBlock, set_under([](Builder& b) { return b.Lane() < 3; }, Uniform::kThread))),
            "V3");
}

TEST(VerifyUniform, LoopsCarryTaintToTheirBegin) {
  // In the second turn `f` is what the thread's own `g` was.
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              const Reg f = b.Declare("f", kU32), g = b.Declare("g", kU32);
              b.Set(f, b.U32(0));
              b.Set(g, b.U32(0));
              b.For("i", b.U32(0), b.U32(3), {}, [&](Value) {
                b.If(Value(f) == 1, Uniform::kBlock, [&] { b.Barrier(); });
                b.Set(f, g);
                b.Set(g, b.Lane());
              });
              return Value(f);
            })),
            "V3");
}

TEST(VerifyUniform, ABroadcastIsUniformInItsWarp) {
  const auto kernel = [](bool broadcast) {
    return OneStore([&](Builder& b) {
      const Value v = b.Let("v", b.Lane() & 1);
      const Value f = broadcast ? b.ShuffleIndex("f", v, b.U32(0)) : b.ShuffleXor("f", v, 1);
      b.If(f == 1, Uniform::kWarp, [&] { b.WarpSync(); });
      return f;
    });
  };
  EXPECT_EQ(Codes(kernel(true)), "");
  EXPECT_EQ(Codes(kernel(false)), "V3");
}

TEST(VerifyResources, Limits) {
  EXPECT_EQ(Codes(Panel(), {.max_shared_bytes = 8 * 3 * 288 + 8 * 512}), "");
  EXPECT_EQ(Codes(Panel(), {.max_shared_bytes = 8 * 3 * 288 + 8 * 512 - 1}), "V6");
  EXPECT_EQ(Codes(Panel(), {.max_threads = 128}), "V6");
}

TEST(VerifyResources, LiveRegisters) {
  const auto kernel = [](uint32_t count, uint32_t min_blocks) {
    Builder b({.warps = 8, .min_blocks = min_blocks});
    const uint32_t x = b.AddBuffer("x", Access::kRead, b.U64(1 << 20));
    const uint32_t y = b.AddBuffer("y", Access::kWrite, b.U64(1024));
    std::vector<Value> v;
    for (uint32_t i = 0; i < count; ++i) v.push_back(b.Load("v", kF32x4, x, b.U64(i * 16)));
    Value sum = b.F32(0);
    for (const Value& each : v) sum = sum + b.Extract(each, 0);
    b.Store(y, b.Wide(b.Thread()) * 4, sum);
    return std::move(b).Finish(b.U32(1));
  };
  EXPECT_EQ(Codes(kernel(63, 0)), "");
  EXPECT_EQ(Codes(kernel(64, 0)), "V6") << "256 words";
  EXPECT_EQ(Codes(kernel(20, 3)), "") << "80 words of 80";
  EXPECT_EQ(Codes(kernel(21, 3)), "V6") << "84 words of 80";
}

TEST(VerifyUsed, NothingIsThereInVain) {
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              b.U32Param("spare", 0, 1);
              return b.U32(1);
            })),
            "V10");
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              b.AddBuffer("spare", Access::kRead, b.U64(16));
              return b.U32(1);
            })),
            "V10");
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              b.Let("spare", b.U32(3));
              return b.U32(1);
            })),
            "V10");
  EXPECT_EQ(Codes(OneStore([](Builder& b) {
              b.For("turn", b.U32(0), b.U32(3), {}, [&](Value) { b.Barrier(); });
              return b.U32(1);
            })),
            "")
      << "a loop may count turns alone";
}

}  // namespace
}  // namespace quern::kernels::ir
