// The CPU products: y = x W^T for packed weights, behind a table of function pointers per instruction set and format,
// so that a generated kernel replaces a hand-written one file by file.
//
// Numerics (docs/kernels.md): class dot-f takes f32 activations, class dot-i8 takes QA8 (one f32 scale per 32 values,
// d = max|x| / 127, codes rounded half away from zero). Both add block b into chain b mod 8 and combine chains 4, 2, 1,
// so the result of a row does not depend on how many rows, threads or instruction sets took part: all levels agree bit
// for bit.
#pragma once

#include <cstdint>
#include <span>

#include "device/cpu/cpu_device.h"
#include "ops/cpu/packed_matrix.h"
#include "ops/program/executor.h"

namespace quern::ops::cpu {

// Activations of M rows prepared for products with matrices of K columns: blocks in the chain-major order of
// PackedMatrix.
struct Activations {
  int64_t num_rows = 0;           // M
  int64_t num_blocks = 0;         // ceil(K / 32); the tail is zero
  const float* f32 = nullptr;     // [M, num_blocks * 32]                class dot-f
  const int8_t* q = nullptr;      // [M, num_blocks * 32]                class dot-i8
  const float* d = nullptr;       // [M, num_blocks] scales
  const int16_t* isum = nullptr;  // [M, num_blocks * 2] sums of the codes over 16: at most 16 * 127
};

// y[m, n - n_begin_of_y] for panels [panel_begin, panel_end): writes y[m * ldy + n] for n in [8 * panel_begin,
// min(8 * panel_end, N)).
using MatmulFn = void (*)(const PackedMatrix& weight, const Activations& x, int64_t panel_begin, int64_t panel_end,
                          float* y, int64_t ldy);

struct MatmulKernel {
  MatmulFn run = nullptr;
  std::string_view name;  // "matmul.q4_0.qa8.rows8.avx2"
  bool int8 = false;      // class dot-i8; else dot-f
};

// The kernel for a format. Every float dtype has a dot-f kernel at every level; dot-i8 exists for the quantised ones.
// With Numerics::kDefault quantised formats get dot-i8, plain floats dot-f.
const MatmulKernel& FindMatmul(DType dtype, device::cpu::Isa isa, Numerics numerics);

// Reorders (and quantises) M rows x [M, ldx] of K columns into buffers of the given capacity; see Activations.
void PrepareF32(device::cpu::Isa isa, const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out);
// A NaN or an infinity in a block makes its d that value and so reaches every output of the row. Blocks whose d is
// below kQa8SmallestScale have codes 0.
void PrepareQa8(device::cpu::Isa isa, const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q,
                float* d, int16_t* isum);

}  // namespace quern::ops::cpu
