// Bitwise operations on polynomials: exact where masks and shifts are divisions or sums, bounded unknowns elsewhere.
// Stateless; symbols go to the algebra.
#pragma once

#include "kernels/ir/verify/algebra.h"

namespace quern::kernels::ir::verify {

Poly BitAnd(Algebra& algebra, const Poly& a, const Poly& b, Type type);
Poly BitOr(Algebra& algebra, const Poly& a, const Poly& b, Type type);
Poly BitXor(Algebra& algebra, const Poly& a, const Poly& b, Type type);
// The amount is below the width.
Poly ShiftLeft(Algebra& algebra, const Poly& a, const Poly& amount, Type type);
Poly ShiftRight(Algebra& algebra, const Poly& a, const Poly& amount, Type type);

}  // namespace quern::kernels::ir::verify
