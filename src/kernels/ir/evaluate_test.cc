// Expressions for the threads of a block: leaves, vectors, poison, and faults that name the thread.
#include "kernels/ir/evaluate.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/builder.h"

namespace quern::kernels::ir {
namespace {

// Evaluates one expression for the threads of a block of two warps.
class EvaluateTest : public testing::Test {
 protected:
  BlockState State() {
    BlockState state{b_.kernel(), params_, 7, {}, std::vector<uint8_t>(64, 1), {}};
    for (const Register& r : b_.kernel().registers) state.registers.emplace_back(r.type, 64, false);
    return state;
  }
  Builder b_{{.warps = 2}};
  std::vector<uint32_t> params_{41, 42};
};

TEST_F(EvaluateTest, Leaves) {
  b_.U32Param("n", 0, 100);
  const Value m = b_.U32Param("m", 0, 100);
  BlockState state = State();
  const Column thread = Evaluate(state, b_.Thread().id), lane = Evaluate(state, b_.Lane().id),
               warp = Evaluate(state, b_.Warp().id), tile = Evaluate(state, b_.Tile().id),
               param = Evaluate(state, m.id), constant = Evaluate(state, b_.F32(-0.0f).id);
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(thread.at(t), t);
    EXPECT_EQ(lane.at(t), t % 32);
    EXPECT_EQ(warp.at(t), t / 32);
    EXPECT_EQ(tile.at(t), 7u);
    EXPECT_EQ(param.at(t), 42u);
    EXPECT_EQ(constant.at(t), 0x80000000u);
    EXPECT_TRUE(thread.defined[t] && param.defined[t] && constant.defined[t]);
  }
}

TEST_F(EvaluateTest, SelectTakesTheValueAndPoisonOfTheChosenSide) {
  const Reg unset = b_.Declare("unset", kU32);
  const Value chosen = b_.Select(b_.Lane() < 5, b_.Lane() + 100, unset);
  BlockState state = State();
  const Column c = Evaluate(state, chosen.id);
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(c.defined[t] != 0, t % 32 < 5) << t;
    EXPECT_TRUE(!c.defined[t] || c.at(t) == t % 32 + 100) << t;
  }
}

TEST_F(EvaluateTest, PoisonSpreads) {
  const Reg unset = b_.Declare("unset", kU32);
  const Value condition = Value(unset) < 5;
  for (const Value v :
       {unset + b_.Lane(), ~Value(unset), b_.Cast(kF32, unset), b_.Select(condition, b_.U32(1), b_.U32(1)),
        b_.Vector({b_.U32(1), unset}), b_.BytePerm(b_.U32(1), b_.U32(2), unset)}) {
    BlockState state = State();
    EXPECT_EQ(Evaluate(state, v.id).defined[3], 0) << NameOf(b_.kernel().expr(v.id).op);
  }
  BlockState state = State();
  EXPECT_EQ(Evaluate(state, (b_.Lane() + 1).id).defined[3], 1);
}

TEST_F(EvaluateTest, VectorsHoldTheirElementsInOrder) {
  const Value four = b_.Vector({b_.Lane(), b_.Lane() + 1, b_.Lane() + 2, b_.Lane() + 3});
  for (uint32_t i = 0; i < 4; ++i) {
    BlockState state = State();
    EXPECT_EQ(Evaluate(state, b_.Extract(four, i).id).at(37), 5 + i);
  }
}

TEST_F(EvaluateTest, BitcastKeepsTheBytes) {
  BlockState state = State();
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kU32, b_.F32(-1.0f)).id).at(0), 0xBF800000u);
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kF32, b_.U32(0x7FA00001)).id).at(0), 0x7FA00001u);
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kI32, b_.U32(0xFFFFFFFF)).id).at(0), 0xFFFFFFFFu);
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kF16, b_.Const(kU16, 0xBC00)).id).at(0), 0xBC00u);
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kI8, b_.Const(kU8, 0x80)).id).at(0), 0x80u);
}

TEST_F(EvaluateTest, BitcastOfVectorsKeepsEveryElement) {
  const Value words = b_.Vector({b_.U32(0x3F800000), b_.U32(1), b_.U32(2), b_.U32(3)});
  BlockState state = State();
  const Column floats = Evaluate(state, b_.Bitcast(kF32x4, words).id);
  EXPECT_EQ(floats.at(0, 0), 0x3F800000u);
  for (uint32_t i = 1; i < 4; ++i) EXPECT_EQ(floats.at(9, i), i);
  const Value pair = b_.Vector({b_.U32(0x89ABCDEF), b_.U32(0x01234567)});
  EXPECT_EQ(Evaluate(state, b_.Bitcast(kU64, pair).id).at(0), 0x0123456789ABCDEFu);
  const Column back = Evaluate(state, b_.Bitcast(kU32x2, b_.U64(0x0123456789ABCDEF)).id);
  EXPECT_EQ(back.at(0, 0), 0x89ABCDEFu);
  EXPECT_EQ(back.at(0, 1), 0x01234567u);
}

TEST_F(EvaluateTest, ArithmeticOnVectorsIsAFault) {
  const Value pair = b_.Vector({b_.U32(1), b_.U32(2)});
  BlockState state = State();
  Evaluate(state, (pair + pair).id);
  EXPECT_EQ(state.fault, "tile 7, thread 0: add of a vector");
}

TEST_F(EvaluateTest, FaultsNameTheThreadAndTheNumber) {
  BlockState division = State();
  Evaluate(division, (b_.U32(5) / b_.U32(0)).id);
  EXPECT_EQ(division.fault, "tile 7, thread 0: division by 0");
  BlockState remainder = State();
  Evaluate(remainder, (b_.Wide(b_.Thread()) % b_.U64(0)).id);
  EXPECT_EQ(remainder.fault, "tile 7, thread 0: division by 0");
  BlockState shift = State();
  Evaluate(shift, (b_.U32(1) << b_.Thread()).id);
  EXPECT_EQ(shift.fault, "tile 7, thread 32: shift by 32");
}

TEST_F(EvaluateTest, ThreadsThatAreNotActiveCommitNoFault) {
  const Value shifted = b_.U32(1) << b_.Thread();
  BlockState state = State();
  for (uint32_t t = 32; t < 64; ++t) state.active[t] = 0;
  const Column c = Evaluate(state, shifted.id);
  EXPECT_EQ(state.fault, "");
  EXPECT_EQ(c.at(31), 0x80000000u);
}

}  // namespace
}  // namespace quern::kernels::ir
