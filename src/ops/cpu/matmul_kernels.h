// The kernel tables behind FindMatmul, one per instruction set. Internal to this room.
#pragma once

#include "ops/cpu/matmul.h"

namespace quern::ops::cpu {

struct MatmulSet {
  MatmulFn dot_f = nullptr;   // every float dtype
  MatmulFn dot_i8 = nullptr;  // quantised formats
};

MatmulSet PortableMatmul(DType dtype);
void PrepareF32Portable(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out);
void PrepareQa8Portable(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q, float* d,
                        int16_t* isum);

#if defined(QUERN_HAS_AVX2_KERNELS)
MatmulFn DotFloatAvx2(DType dtype);
MatmulFn DotInt8Avx2(DType dtype);
void PrepareF32Avx2(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out);
void PrepareQa8Avx2(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q, float* d,
                    int16_t* isum);
#endif

}  // namespace quern::ops::cpu
