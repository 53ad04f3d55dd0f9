// The kernel tables behind FindMatmul, one per instruction set. Internal to this room.
#pragma once

#include <type_traits>

#include "ops/cpu/matmul.h"

namespace quern::ops::cpu {

struct MatmulSet {
  MatmulFn dot_f = nullptr;   // every float dtype
  MatmulFn dot_i8 = nullptr;  // quantised formats
};

template <DType kType>
using DTypeConstant = std::integral_constant<DType, kType>;

// f(DTypeConstant) of the dtype in which a panel holds the weights (F64 is packed as F32); a value-initialised result
// for dtypes without arithmetic. f must be a lambda, so that no instantiation is shared between files that are compiled
// for different processors.
template <typename F>
auto SelectByDType(DType dtype, F f) {
  decltype(f(DTypeConstant<DType::kF32>{})) selected{};
  const DType packed = dtype == DType::kF64 ? DType::kF32 : dtype;
  const auto select = [&]<DType... kTypes>() {
    static_cast<void>(((packed == kTypes && (selected = f(DTypeConstant<kTypes>{}), true)) || ...));
  };
  select.template operator()<DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                             DType::kQ5_1, DType::kQ8_0, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                             DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4>();
  return selected;
}

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
