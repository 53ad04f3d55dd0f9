// Division of polynomials. Pure functions; nothing is proven here.
#pragma once

#include "kernels/ir/verify/poly.h"

namespace quern::kernels::ir::verify {

// p = divisor * whole + rest, as integers. By a constant, `rest` keeps the terms that it does not divide, and of the
// constant term what is left over (not negative). By parameters it is long division: rest may be negative.
struct Split {
  Poly whole, rest;
};
Split SplitBy(const Poly& p, const Poly& divisor);

// The largest power of two that divides every value of p; of 0 the largest of 64 bits.
Int PowerOfTwoIn(const Poly& p);

}  // namespace quern::kernels::ir::verify
