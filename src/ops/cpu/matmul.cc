#include "ops/cpu/matmul.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "ops/cpu/matmul_kernels.h"

namespace quern::ops::cpu {
namespace {

using device::cpu::Isa;

struct KernelPair {
  MatmulKernel dot_f, dot_i8;
  std::string dot_f_name, dot_i8_name;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

MatmulSet SetOf(DType dtype, Isa isa) {
#if defined(QUERN_HAS_AVX2_KERNELS)
  if (isa != Isa::kPortable) return {DotFloatAvx2(dtype), DotInt8Avx2(dtype)};
#endif
  return PortableMatmul(dtype);
}

// Built once; entries point into the array itself, so it is never copied.
class Table {
 public:
  explicit Table(Isa isa) {
    for (int i = 0; i < kNumDTypes; ++i) {
      const DType dtype = static_cast<DType>(i);
      const MatmulSet set = SetOf(dtype, isa);
      KernelPair& pair = pairs_[i];
      const std::string format = Lower(quern::NameOf(dtype)), level(device::cpu::NameOf(isa));
      pair.dot_f_name = "matmul." + format + ".f32.rows8." + level;
      pair.dot_i8_name = "matmul." + format + ".qa8.rows8." + level;
      pair.dot_f = {set.dot_f, pair.dot_f_name, false};
      pair.dot_i8 = {set.dot_i8, pair.dot_i8_name, true};
    }
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const KernelPair& of(DType dtype) const { return pairs_[static_cast<size_t>(dtype)]; }

 private:
  std::array<KernelPair, kNumDTypes> pairs_;
};

}  // namespace

const MatmulKernel& FindMatmul(DType dtype, Isa isa, Numerics numerics) {
  static const Table portable(Isa::kPortable);
#if defined(QUERN_HAS_AVX2_KERNELS)
  static const Table avx2(Isa::kAvx2);
  const KernelPair& pair = (isa == Isa::kPortable ? portable : avx2).of(dtype);
#else
  const KernelPair& pair = portable.of(dtype);
#endif
  const bool int8 = numerics == Numerics::kDefault && pair.dot_i8.run != nullptr;
  const MatmulKernel& kernel = int8 ? pair.dot_i8 : pair.dot_f;
  QUERN_CHECK(kernel.run != nullptr);  // PackMatrix refuses dtypes without arithmetic
  return kernel;
}

void PrepareF32(Isa isa, const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out) {
#if defined(QUERN_HAS_AVX2_KERNELS)
  if (isa != Isa::kPortable) return PrepareF32Avx2(x, ldx, num_rows, num_cols, out);
#endif
  PrepareF32Portable(x, ldx, num_rows, num_cols, out);
}

void PrepareQa8(Isa isa, const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q, float* d,
                int16_t* isum) {
#if defined(QUERN_HAS_AVX2_KERNELS)
  if (isa != Isa::kPortable) return PrepareQa8Avx2(x, ldx, num_rows, num_cols, q, d, isum);
#endif
  PrepareQa8Portable(x, ldx, num_rows, num_cols, q, d, isum);
}

}  // namespace quern::ops::cpu
