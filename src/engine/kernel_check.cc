#include "engine/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/cpu/matmul.h"
#include "tensor/half.h"

namespace quern::engine {
namespace {

using device::cpu::Isa;

// Two panels and a cut one; 16 blocks are two rounds of the eight chains.
constexpr int64_t kRows = 20, kCols = 512, kTokens = 3, kBlocks = kCols / 32;
// Activations in eight bits are off by at most half a step of max|x| / 127 each; sums of 512 stay far below this bound,
// relative to the sum of magnitudes.
constexpr double kTolerance = 0.01;

// The code of weight (row, col): -8 .. 7, without a pattern that a swapped lane would keep.
int CodeAt(int64_t row, int64_t col) { return static_cast<int>((row * 31 + col * 7 + col / 32 * 5) % 16) - 8; }
constexpr float kScale = 0.125f;

std::vector<std::byte> Weights(DType dtype) {
  const int64_t row_bytes = TensorView::RowBytes(dtype, kCols);
  std::vector<std::byte> bytes(static_cast<size_t>(kRows * row_bytes));
  std::byte* at = bytes.data();
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t col = 0; col < kCols; ++col) {
      if (dtype == DType::kF32) {
        const float value = kScale * static_cast<float>(CodeAt(row, col));
        std::memcpy(at, &value, sizeof(value));
        at += sizeof(value);
        continue;
      }
      if (col % 32 == 0) {  // Q8_0: an f16 scale, then 32 codes
        const uint16_t scale = FloatToHalf(kScale);
        std::memcpy(at, &scale, sizeof(scale));
        at += sizeof(scale);
      }
      *at++ = static_cast<std::byte>(CodeAt(row, col));
    }
  }
  return bytes;
}

std::vector<float> Inputs() {
  std::vector<float> x(static_cast<size_t>(kTokens * kCols));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 64.0f;
  return x;
}

std::vector<float> Product(Isa isa, const ops::cpu::PackedMatrix& weight, const std::vector<float>& x) {
  constexpr auto kValues = static_cast<size_t>(kTokens * kCols), kAllBlocks = static_cast<size_t>(kTokens * kBlocks);
  std::vector<float> f32(kValues), d(kAllBlocks), y(static_cast<size_t>(kTokens * kRows));
  std::vector<int8_t> q(kValues);
  std::vector<int16_t> sums(kAllBlocks * 2);
  ops::cpu::PrepareF32(isa, x.data(), kCols, kTokens, kCols, f32.data());
  ops::cpu::PrepareQa8(isa, x.data(), kCols, kTokens, kCols, q.data(), d.data(), sums.data());
  const ops::cpu::Activations activations{kTokens, kBlocks, f32.data(), q.data(), d.data(), sums.data()};
  const ops::cpu::MatmulKernel& kernel = ops::cpu::FindMatmul(weight.dtype, isa, ops::Numerics::kDefault);
  kernel.run(weight, activations, 0, (kRows + ops::cpu::kPanelRows - 1) / ops::cpu::kPanelRows, y.data(), kRows);
  return y;
}

bool IsClose(const std::vector<float>& y, const std::vector<float>& x) {
  for (int64_t token = 0; token < kTokens; ++token) {
    for (int64_t row = 0; row < kRows; ++row) {
      double product = 0, magnitude = 0;
      for (int64_t col = 0; col < kCols; ++col) {
        const double term = double{kScale} * CodeAt(row, col) * x[static_cast<size_t>(token * kCols + col)];
        product += term;
        magnitude += std::fabs(term);
      }
      // Written so that a NaN fails.
      if (!(std::fabs(y[static_cast<size_t>(token * kRows + row)] - product) <= kTolerance * magnitude)) return false;
    }
  }
  return true;
}

}  // namespace

Status CheckKernels(Isa isa) {
  ThreadTeam team(1);
  const std::vector<float> x = Inputs();
  for (const DType dtype : {DType::kF32, DType::kQ8_0}) {
    const std::vector<std::byte> bytes = Weights(dtype);
    const TensorView view{bytes.data(), dtype, {kRows, kCols}};
    QUERN_ASSIGN_OR_RETURN(const ops::cpu::PackedMatrix packed, ops::cpu::PackMatrix(view, team));
    const std::vector<float> y = Product(isa, packed, x);
    const std::string_view name = ops::cpu::FindMatmul(dtype, isa, ops::Numerics::kDefault).name;
    if (!IsClose(y, x)) return Fail(Code::kInternal, "{} computes a wrong product", name);
    const std::vector<float> portable = Product(Isa::kPortable, packed, x);
    if (std::memcmp(y.data(), portable.data(), y.size() * sizeof(float)) != 0) {
      return Fail(Code::kInternal, "{} differs from the portable kernel", name);
    }
  }
  return {};
}

}  // namespace quern::engine
