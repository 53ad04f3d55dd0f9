#include "kernels/ir/verify/bits.h"

#include <algorithm>

#include "kernels/ir/verify/divide.h"

namespace quern::kernels::ir::verify {
namespace {

Int PowerOfTwo(Int exponent) { return Int{1} << static_cast<int>(exponent); }

Poly Combined(Algebra& algebra, const char* name, const Poly& a, const Poly& b, Type type) {
  if (!algebra.NotNegative(a) || !algebra.NotNegative(b)) return algebra.UnknownOf(name, {a, b}, type, kMaxU64, false);
  // No bit is in both: a sum.
  const Int step_a = PowerOfTwoIn(a), step_b = PowerOfTwoIn(b);
  if (algebra.AtMost(b, step_a - 1) || algebra.AtMost(a, step_b - 1)) return a + b;
  const Int step = std::min(step_a, step_b);
  const Symbols& symbols = algebra.symbols();
  const Int high = std::min(std::max(symbols.High(a), symbols.High(b)), HighestOf(type));
  Int bound = 1;
  while (bound <= high) bound *= 2;
  return algebra.UnknownOf(name, {a.DividedBy(step), b.DividedBy(step)}, type, (bound - 1) / step, false) * Poly(step);
}

}  // namespace

Poly BitAnd(Algebra& algebra, const Poly& a, const Poly& b, Type type) {
  if (a.IsConstant() && !b.IsConstant()) return BitAnd(algebra, b, a, type);
  if (!algebra.NotNegative(a) || !algebra.NotNegative(b)) return algebra.UnknownOf("and", {a, b}, type, kMaxU64, false);
  if (b.IsConstant()) {
    const Int mask = b.constant();
    if ((mask & (mask + 1)) == 0) return algebra.Divide(a, mask + 1).second;
    const Int low = HighestOf(type) + 1 - mask;  // of a mask of the upper bits
    if (LowestOf(type) == 0 && (low & (low - 1)) == 0) return algebra.Divide(a, low).first * Poly(low);
  }
  const Int high = std::min(algebra.symbols().High(a), algebra.symbols().High(b));
  return algebra.UnknownOf("and", {a, b}, type, high, false);
}

Poly BitOr(Algebra& algebra, const Poly& a, const Poly& b, Type type) { return Combined(algebra, "or", a, b, type); }
Poly BitXor(Algebra& algebra, const Poly& a, const Poly& b, Type type) { return Combined(algebra, "xor", a, b, type); }

Poly ShiftLeft(Algebra& algebra, const Poly& a, const Poly& amount, Type type) {
  if (amount.IsConstant()) return algebra.Fit(a * Poly(PowerOfTwo(amount.constant())), type);
  const Int most = algebra.symbols().High(amount), high = algebra.symbols().High(a);
  if (LowestOf(type) == 0 && most < 64 && high <= HighestOf(type) >> static_cast<int>(most))
    return algebra.UnknownOf("shl", {a, amount}, type, high * PowerOfTwo(most), false);
  return algebra.UnknownOf("shl", {a, amount}, type, kMaxU64, true);
}

Poly ShiftRight(Algebra& algebra, const Poly& a, const Poly& amount, Type type) {
  if (!algebra.NotNegative(a)) return algebra.UnknownOf("shr", {a, amount}, type, kMaxU64, false);
  if (amount.IsConstant()) return algebra.Divide(a, PowerOfTwo(amount.constant())).first;
  return algebra.UnknownOf("shr", {a, amount}, type, algebra.symbols().High(a), false);
}

}  // namespace quern::kernels::ir::verify
