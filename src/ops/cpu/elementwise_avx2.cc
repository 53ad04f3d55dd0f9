#include "ops/cpu/vector_avx2-inl.h"
// The body below is written in the vectors above.
#include "ops/cpu/elementwise-inl.h"

namespace quern::ops::cpu {

const ElementwiseKernels& ElementwiseAvx2();
const ElementwiseKernels& ElementwiseAvx2() { return kKernels; }

}  // namespace quern::ops::cpu
