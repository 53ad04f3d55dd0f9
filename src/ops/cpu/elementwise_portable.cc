#include "ops/cpu/vector_portable-inl.h"
// The body below is written in the vectors above.
#include "ops/cpu/elementwise-inl.h"

namespace quern::ops::cpu {

#if defined(QUERN_HAS_AVX2_KERNELS)
const ElementwiseKernels& ElementwiseAvx2();
#endif

const ElementwiseKernels& FindElementwise(device::cpu::Isa isa) {
#if defined(QUERN_HAS_AVX2_KERNELS)
  if (isa != device::cpu::Isa::kPortable) return ElementwiseAvx2();
#endif
  return kKernels;
}

}  // namespace quern::ops::cpu
