// Exp, Tanh and GeluTanh of ops/math.h on F32x8: the same operations in the same order. Include one vector_*-inl.h
// first.
#pragma once

#include "ops/math.h"

namespace quern::ops::cpu {
namespace {

inline F32x8 Exp(F32x8 x) {
  using C = MathConstants;
  x = Max(Set(C::kExpMin), Min(Set(C::kExpMax), x));
  const F32x8 shifted = Fma(x, Set(C::kLog2E), Set(C::kRoundingShift));
  const F32x8 n = Sub(shifted, Set(C::kRoundingShift));
  const F32x8 f = Fma(n, Set(-C::kLn2Low), Fma(n, Set(-C::kLn2High), x));
  F32x8 p = Set(C::kExp[0]);
  for (int i = 1; i < 6; ++i) p = Fma(p, f, Set(C::kExp[i]));
  p = Add(Fma(p, Mul(f, f), f), Set(1.0f));
  return ScaleByPower(p, shifted, C::kRoundingShift);
}

inline F32x8 Tanh(F32x8 x) {
  using C = MathConstants;
  const F32x8 magnitude = Abs(x);
  const F32x8 square = Mul(x, x);
  F32x8 p = Set(C::kTanh[0]);
  for (int i = 1; i < 5; ++i) p = Fma(p, square, Set(C::kTanh[i]));
  const F32x8 small = Fma(Mul(p, square), magnitude, magnitude);
  const F32x8 power = Exp(Mul(Set(2.0f), Min(Set(C::kTanhLarge), magnitude)));
  const F32x8 large = Sub(Set(1.0f), Div(Set(2.0f), Add(Set(1.0f), power)));
  return CopySign(SelectLess(magnitude, Set(C::kTanhSmall), small, large), x);
}

inline F32x8 GeluTanh(F32x8 x) {
  using C = MathConstants;
  const F32x8 argument = Mul(x, Fma(Mul(x, x), Set(C::kGeluCubic), Set(C::kGeluLinear)));
  return Div(x, Add(Set(1.0f), Exp(argument)));
}

}  // namespace
}  // namespace quern::ops::cpu
