// V1, V2, V3, V6, V10 and V11: each planted fault is refused with its own code, and what only resembles it passes.
#include "kernels/ir/verify_kernels_test.h"

namespace quern::kernels::ir {
namespace {

// A right kernel: y[thread of all tiles] = what `f` makes.
template <typename F>
Kernel Writing(const F& f, uint32_t warps = 2) {
  Builder b({.warps = warps});
  const Value tiles = b.U32Param("tiles", 1, 1 << 16);
  const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(tiles) * (128 * warps));
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(tiles) * (128 * warps));
  const Value at = b.Let("at", b.Wide(b.Tile() * (32 * warps) + b.Thread()) * 4);
  const Value v = b.Load("v", kF32, x, at);
  b.Store(y, at, f(b, v));
  return std::move(b).Finish(tiles);
}
const auto kIdentity = [](Builder&, Value v) { return v; };

TEST(VerifyTypes, FaultsOfOperandsAndIndices) {
  EXPECT_ACCEPTED(Writing(kIdentity));
  const auto broken = [](auto change) {
    Kernel kernel = Writing([](Builder& b, Value v) { return b.Let("sum", v + v); });
    change(kernel);
    return kernel;
  };
  const auto last_of = [](Kernel& kernel, Op op) -> Expr& {
    for (size_t i = kernel.exprs.size(); i-- > 0;)
      if (kernel.exprs[i].op == op) return kernel.exprs[i];
    ADD_FAILURE();
    return kernel.exprs[0];
  };
  EXPECT_CODES(broken([&](Kernel& k) { last_of(k, Op::kAdd).type = kU32; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { last_of(k, Op::kAdd).num_args = 1; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { last_of(k, Op::kAdd).args[0] = 4000; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { last_of(k, Op::kReg).value = 99; }), "V1");
  EXPECT_CODES(
      broken([&](Kernel& k) { last_of(k, Op::kConst).value = uint64_t{1} << 40, last_of(k, Op::kConst).type = kU32; }),
      "V1");
  EXPECT_CODES(broken([&](Kernel& k) { std::get<LoadGlobalStmt>(k.body[1].node).buffer = 1; }), "V1");   // write only
  EXPECT_CODES(broken([&](Kernel& k) { std::get<StoreGlobalStmt>(k.body[3].node).buffer = 0; }), "V1");  // read only
  EXPECT_CODES(broken([&](Kernel& k) { std::get<StoreGlobalStmt>(k.body[3].node).buffer = 7; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { std::get<StoreGlobalStmt>(k.body[3].node).predicate = 0; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { std::get<SetStmt>(k.body[2].node).dst = 77; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { k.registers[1].name = k.registers[0].name; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { k.buffers[0].align = 12; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { k.params[0].min = k.params[0].max + 1; }), "V1");
  EXPECT_CODES(broken([&](Kernel& k) { k.num_tiles = kNoExpr; }), "V1");
}

TEST(VerifyTypes, LoopVariableIsNotWritten) {
  EXPECT_CODES(Writing([](Builder& b, Value v) {
                 b.For("i", b.U32(0), b.U32(4), {}, [&](Value i) { b.Set({&b, 2}, i + 1); });
                 return v;
               }),
               "V1");
}

TEST(VerifyTypes, VectorsAndMma) {
  EXPECT_CODES(Writing([](Builder& b, Value v) {
                 const Value two = b.Vector({v, v});
                 return b.Extract(b.Make(Op::kAdd, kF32x2, {two, two}), 0);
               }),
               "V1");
  const auto mma = [](MmaKind kind) {
    return Writing([kind](Builder& b, Value v) {
      const Value u = b.Let("u", b.Bitcast(kU32, v)), zero = b.F32(0);
      const Reg d = b.Declare("d", kF32x4);
      b.Mma(kind, d, b.Vector({u, u, u, u}), b.Vector({u, u}), b.Vector({zero, zero, zero, zero}));
      return b.Extract(d, 0);
    });
  };
  EXPECT_ACCEPTED(mma(MmaKind::kBF16K16));
  EXPECT_CODES(mma(MmaKind::kS8S8K32), "V1");
}

TEST(VerifyTypes, SixteenBitFloatsDoNotAccumulate) {
  EXPECT_ACCEPTED(Writing([](Builder& b, Value v) { return b.Cast(kF32, b.Let("h", b.Cast(kF16, v))); }));
  EXPECT_CODES(Writing([](Builder& b, Value v) {
                 const Value h = b.Cast(kF16, v);
                 return b.Cast(kF32, b.Make(Op::kAdd, kF16, {h, h}));
               }),
               "V11");
  EXPECT_CODES(Writing([](Builder& b, Value v) {
                 const Reg sum = b.Declare("sum", kBF16);
                 b.Set(sum, b.Cast(kBF16, v));
                 b.Set(sum, b.Cast(kBF16, b.Cast(kF32, sum) + v));
                 return b.Cast(kF32, sum);
               }),
               "V11");
}

TEST(VerifyAssignment, PathsThatSkip) {
  const auto kernel = [](int kind) {
    return Writing([kind](Builder& b, Value v) {
      const Reg r = b.Declare("r", kF32);
      const auto set = [&] { b.Set(r, v); };
      if (kind == 1) b.If(b.Lane() == 0, Uniform::kThread, set);
      if (kind == 2) b.If(b.Lane() == 0, Uniform::kThread, set, set);
      if (kind == 3) b.For("i", b.U32(0), b.Tile(), {}, [&](Value) { set(); });
      if (kind == 4) b.For("i", b.U32(0), b.U32(2), {}, [&](Value) { set(); });
      if (kind == 5) b.Set(r, Value(r) + v);
      return Value(r);
    });
  };
  EXPECT_CODES(kernel(0), "V2");
  EXPECT_CODES(kernel(1), "V2");
  EXPECT_ACCEPTED(kernel(2));
  EXPECT_CODES(kernel(3), "V2");
  EXPECT_ACCEPTED(kernel(4));
  EXPECT_CODES(kernel(5), "V2");
}

TEST(VerifyUniform, ClaimsAndPlaces) {
  EXPECT_CODES(Norm({.divergent_barrier = true}), "V3");
  EXPECT_CODES(Norm({.claims_block = true}), "V3");
  EXPECT_CODES(Panel({.warp_barrier = true}), "V3");
  EXPECT_CODES(MatVec({.thread_claim = true}), "V3");
}

TEST(VerifyUniform, TaintsOfRegisters) {
  // A shuffle under a condition that `make` computes, claimed equal per `claim`.
  const auto shuffled_if = [](Uniform claim, auto make) {
    return Writing([&](Builder& b, Value v) {
      const Reg r = b.Declare("r", kF32);
      b.Set(r, v);
      const Value condition = make(b, v);
      b.If(condition, claim, [&] { b.Set(r, b.ShuffleXor("s", r, 1)); });
      return Value(r);
    });
  };
  EXPECT_ACCEPTED(shuffled_if(Uniform::kWarp, [](Builder& b, Value) { return b.Warp() == 1; }));
  EXPECT_ACCEPTED(shuffled_if(Uniform::kWarp, [](Builder& b, Value) { return b.Thread() / 32 == 1; }));
  EXPECT_CODES(shuffled_if(Uniform::kBlock, [](Builder& b, Value) { return b.Warp() == 1; }), "V3");
  EXPECT_CODES(shuffled_if(Uniform::kWarp, [](Builder& b, Value) { return b.Lane() == 1; }), "V3");
  EXPECT_CODES(shuffled_if(Uniform::kWarp, [](Builder& b, Value v) { return b.F32(0) < v; }), "V3");
  // One lane's value is the whole warp's; a butterfly's result is each lane's own.
  EXPECT_ACCEPTED(
      shuffled_if(Uniform::kWarp, [](Builder& b, Value v) { return b.F32(0) < b.ShuffleIndex("f", v, b.U32(3)); }));
  EXPECT_CODES(shuffled_if(Uniform::kWarp, [](Builder& b, Value v) { return b.F32(0) < b.ShuffleXor("f", v, 3); }),
               "V3");
  // Set under a condition of the lane: differs afterwards, also through a loop.
  EXPECT_CODES(shuffled_if(Uniform::kBlock,
                           [](Builder& b, Value) {
                             const Reg n = b.Declare("n", kU32);
                             b.Set(n, b.U32(0));
                             b.If(b.Lane() < 4, Uniform::kThread, [&] { b.Set(n, b.U32(1)); });
                             return Value(n) == 1;
                           }),
               "V3");
  EXPECT_CODES(shuffled_if(Uniform::kBlock,
                           [](Builder& b, Value) {
                             const Reg first = b.Declare("first", kU32), second = b.Declare("second", kU32);
                             b.Set(first, b.U32(0));
                             b.Set(second, b.U32(0));
                             b.For("i", b.U32(0), b.U32(3), {}, [&](Value) {
                               b.Set(first, Value(second));
                               b.Set(second, b.Lane());
                             });
                             return Value(first) == 1;
                           }),
               "V3");
}

TEST(VerifyResources, Limits) {
  EXPECT_CODES(Writing(kIdentity, 33), "V6");
  Limits limits;
  limits.max_shared_bytes = 8;
  std::string said;
  EXPECT_EQ(CodesOf(Norm(), &said, limits), std::set<std::string>{"V6"}) << said;
  const auto many_live = [](uint32_t count) {
    return Writing([count](Builder& b, Value v) {
      std::vector<Value> all;
      for (uint32_t i = 0; i < count; ++i) all.push_back(b.Let("r", v + b.F32(static_cast<float>(i))));
      Value sum = v;
      for (const Value& one : all) sum = b.Let("sum", sum + one);
      return sum;
    });
  };
  EXPECT_ACCEPTED(many_live(240));
  EXPECT_CODES(many_live(260), "V6");
  Kernel wants_many_blocks = many_live(100);
  wants_many_blocks.min_blocks = 16;  // 64 threads each: 64 registers
  EXPECT_CODES(wants_many_blocks, "V6");
}

TEST(VerifyUse, WhatIsDeclaredIsUsed) {
  EXPECT_CODES(Writing([](Builder& b, Value v) { return b.U32Param("unused", 0, 1), v; }), "V10");
  EXPECT_CODES(Writing([](Builder& b, Value v) { return b.AddBuffer("unused", Access::kRead, b.U64(4)), v; }), "V10");
  EXPECT_CODES(Writing([](Builder& b, Value v) { return b.AddShared("unused", 16), v; }), "V10");
  EXPECT_CODES(Writing([](Builder& b, Value v) { return b.Let("unused", v + v), v; }), "V10");
  EXPECT_CODES(Writing([](Builder& b, Value v) {
                 const Reg only_itself = b.Declare("only_itself", kF32);
                 b.Set(only_itself, v);
                 b.Set(only_itself, Value(only_itself) + v);
                 return v;
               }),
               "V10");
}

TEST(Verify, NamesTheStatement) {
  const std::vector<Violation> found = Verify(Gather({.trusts_id = true}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where.substr(0, 24), "1.1: %v:bf16 = load tabl");
  EXPECT_EQ(NameOf(Rule::kV11), "V11");
}

}  // namespace
}  // namespace quern::kernels::ir
