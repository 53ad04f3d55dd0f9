// The warp matrix product on registers, by the layout that kernel.h documents. Internal to the interpreter.
#pragma once

#include <cstdint>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

// Words of 32 lanes: a [32][a_words], b [32][b_words], c and d [32][4]. 16-bit kinds add the products, rounded to f32
// (exact for bf16 and f16 operands but for underflow), to c in increasing k with one rounding each.
struct MmaShape {
  uint32_t k = 16, a_words = 4, b_words = 2;
  bool integer = false, a_signed = false;
};
MmaShape ShapeOf(MmaKind kind);
void WarpMma(MmaKind kind, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d);

}  // namespace quern::kernels::ir
