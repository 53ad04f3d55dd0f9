// V4 bounds, V5 alignment, V7 wrapped indices and V9 divisors: good kernels are proved, each mutation is refused by its
// own rule alone.
#include <gtest/gtest.h>

#include "kernels/ir/verify_cases.h"

namespace quern::kernels::ir {
namespace {

struct Mutation {
  Kernel (*make)(Fault);
  Fault fault;
  std::string rule;
};

TEST(VerifyBounds, EachMutationIsRefused) {
  const Mutation mutations[] = {
      {Elementwise, Fault::kNoGuard, "V4"},
      {Elementwise, Fault::kGuardTooWide, "V4"},
      {Elementwise, Fault::kTail, "V4"},
      {RowNorm, Fault::kGuardTooWide, "V4"},
      {RowNorm, Fault::kSharedSize, "V4"},
      {QuantVector, Fault::kNoGuard, "V4"},
      {QuantVector, Fault::kSmallBuffer, "V4"},
      {QuantVector, Fault::kTail, "V4"},
      {Panel, Fault::kNoGuard, "V4"},
      {Panel, Fault::kGuardTooWide, "V4"},
      {Panel, Fault::kSlot, "V4"},
      {Panel, Fault::kSharedSize, "V4"},
      {Gather, Fault::kNoGuard, "V4"},
      {Gather, Fault::kGuardTooWide, "V4"},
      {TwoDimensional, Fault::kNoGuard, "V4"},
  };
  for (const Mutation& m : mutations)
    EXPECT_EQ(Codes(m.make(m.fault)), m.rule) << static_cast<int>(m.fault) << "\n" << Explain(m.make(m.fault));
}

TEST(VerifyAlignment, EachMutationIsRefused) {
  const Mutation mutations[] = {
      {Elementwise, Fault::kAlignment, "V5"},
      {Elementwise, Fault::kBufferAlign, "V5"},
      {QuantVector, Fault::kAlignment, "V5"},
  };
  for (const Mutation& m : mutations)
    EXPECT_EQ(Codes(m.make(m.fault)), m.rule) << static_cast<int>(m.fault) << "\n" << Explain(m.make(m.fault));
}

TEST(VerifyOverflow, IndicesDoNotWrap) {
  EXPECT_EQ(Codes(QuantVector(Fault::kU32Offset)), "V7") << Explain(QuantVector(Fault::kU32Offset));
  EXPECT_EQ(Codes(Gather(Fault::kU32Offset)), "V7") << Explain(Gather(Fault::kU32Offset));
}

// y[thread] = 0 after `body`, which may use a parameter n in [1, max].
template <typename Body>
Kernel WithParam(uint32_t max, const Body& body) {
  Builder b({.warps = 1});
  const Value n = b.U32Param("n", 1, max);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(n) * 128);
  b.Store(y, b.Wide(b.Tile()) * 128 + b.Wide(b.Lane()) * 4, body(b, n));
  return std::move(b).Finish(n);
}

TEST(VerifyOverflow, LoopBoundsAndGuardsDoNotWrap) {
  const auto loop = [](uint32_t max) {
    return WithParam(max, [](Builder& b, Value n) {
      const Reg sum = b.Declare("sum", kU32);
      b.Set(sum, b.U32(0));
      b.For("i", b.U32(0), n * 1024, {}, [&](Value i) { b.Set(sum, Value(sum) ^ i); });
      return Value(sum);
    });
  };
  EXPECT_EQ(Codes(loop(1 << 20)), "");
  EXPECT_EQ(Codes(loop(1 << 22)), "V7");
  const auto guard = [](uint32_t max) {
    return WithParam(max, [](Builder& b, Value n) {
      const Reg v = b.Declare("v", kU32);
      b.Set(v, b.U32(0));
      b.If(n * 1024 < b.Tile(), Uniform::kBlock, [&] { b.Set(v, b.U32(1)); });
      return Value(v);
    });
  };
  EXPECT_EQ(Codes(guard(1 << 20)), "");
  EXPECT_EQ(Codes(guard(1 << 22)), "V7");
  EXPECT_EQ(Codes(WithParam(1 << 22, [](Builder&, Value n) { return n * 1024; })), "") << "a value may wrap";
}

TEST(VerifyDivision, DivisorsAndShifts) {
  EXPECT_EQ(Codes(WithParam(9, [](Builder& b, Value n) { return b.Tile() / n; })), "");
  EXPECT_EQ(Codes(WithParam(9, [](Builder& b, Value n) { return b.Tile() / (n - 1); })), "V9");
  EXPECT_EQ(Codes(WithParam(9, [](Builder& b, Value n) { return b.Tile() % (n / 2); })), "V9");
  EXPECT_EQ(Codes(WithParam(9, [](Builder& b, Value n) { return b.Tile() % b.DivideUp(n, 2); })), "");
  EXPECT_EQ(Codes(WithParam(31, [](Builder& b, Value n) { return b.Tile() << n; })), "");
  EXPECT_EQ(Codes(WithParam(32, [](Builder& b, Value n) { return b.Tile() << n; })), "V9");
  EXPECT_EQ(Codes(WithParam(40, [](Builder& b, Value n) { return b.Tile() >> (n & 31); })), "");
}

// The proofs have no slack: these kernels touch every byte that they declare, so one less is refused.
TEST(VerifyBounds, OneByteLessIsRefused) {
  for (const auto make : {Elementwise, RowNorm, QuantVector, Panel, Gather, TwoDimensional}) {
    const Kernel good = make(Fault::kNone);
    for (size_t i = 0; i < good.buffers.size(); ++i) {
      Kernel k = good;
      const auto add = [&](Expr e) {
        k.exprs.push_back(e);
        return static_cast<ExprId>(k.exprs.size()) - 1;
      };
      const ExprId one = add({Op::kConst, kU64, 0, {}, 1});
      k.buffers[i].min_bytes = add({Op::kSub, kU64, 2, {k.buffers[i].min_bytes, one}, 0});
      EXPECT_EQ(Codes(k), "V4") << k.buffers[i].name << "\n" << Dump(k);
    }
  }
}

TEST(VerifyBounds, OneTileMoreIsRefused) {
  for (const auto make : {RowNorm, Panel, Gather}) {
    Kernel k = make(Fault::kNone);
    k.exprs.push_back({Op::kConst, kU32, 0, {}, 1});
    const ExprId one = static_cast<ExprId>(k.exprs.size()) - 1;
    k.exprs.push_back({Op::kAdd, kU32, 2, {k.num_tiles, one}, 0});
    k.num_tiles = one + 1;
    EXPECT_EQ(Codes(k), "V4") << Dump(k);
  }
}

}  // namespace
}  // namespace quern::kernels::ir
