#include "ops/cpu/packed_matrix.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ops/cpu/matmul.h"
#include "ops/cpu/test_formats.h"

namespace quern::ops::cpu {
namespace {

using device::cpu::Isa;
using testing::Block32;
using testing::FileMatrix;
using testing::ReadBlock;

// Every value of a packed matrix, read back through the portable product with unit vectors: the round trip covers
// codes, offsets, sub-scales, minima, block order and padding together. A unit vector sums zeros to the one value, so
// with f32 activations the result is exact up to the two roundings of d * c and m * n.
std::vector<float> ReadBack(const PackedMatrix& packed) {
  const int64_t cols = packed.num_cols, stride = packed.num_blocks * 32;
  std::vector<float> unit(static_cast<size_t>(cols * cols), 0.0f), prepared(static_cast<size_t>(cols * stride));
  for (int64_t k = 0; k < cols; ++k) unit[k * cols + k] = 1;
  PrepareF32(Isa::kPortable, unit.data(), cols, cols, cols, prepared.data());
  Activations x;
  x.num_rows = cols;
  x.num_blocks = packed.num_blocks;
  x.f32 = prepared.data();
  std::vector<float> y(static_cast<size_t>(cols * packed.num_rows));
  FindMatmul(packed.dtype, Isa::kPortable, Numerics::kExact)
      .run(packed, x, 0, (packed.num_rows + 7) / 8, y.data(), packed.num_rows);
  return y;  // [K, N]
}

class PackTest : public ::testing::TestWithParam<DType> {};

TEST_P(PackTest, RoundTrip) {
  for (const int64_t rows : {8, 11}) {
    const int64_t cols = InfoOf(GetParam()).block_elems == 256 ? 512 : InfoOf(GetParam()).is_quantized ? 288 : 70;
    const FileMatrix file(GetParam(), rows, cols, 21);
    ThreadTeam team(1);
    const Result<PackedMatrix> packed = PackMatrix(file.view(), team);
    ASSERT_TRUE(packed.has_value());
    const std::vector<float> values = ReadBack(*packed);
    for (int64_t n = 0; n < rows; ++n) {
      for (int64_t k = 0; k < cols; ++k) {
        Block32 block;
        if (k + 32 - k % 32 <= cols) {
          block = ReadBlock(GetParam(), file.view().row(n), k / 32 * 32);
        } else {  // the tail of a plain row
          block = ReadBlock(GetParam(), file.view().row(n) + (cols - 32) * InfoOf(GetParam()).block_bytes, 0);
        }
        const int e = static_cast<int>(k + 32 - k % 32 <= cols ? k % 32 : k - (cols - 32));
        const double code_part = double{block.d} * block.c[e], min_part = double{block.m} * block.n[e / 16];
        ASSERT_NEAR(values[k * rows + n], code_part + min_part, 0x1p-22 * (std::fabs(code_part) + std::fabs(min_part)))
            << "row " << n << " column " << k;
      }
    }
  }
}

TEST_P(PackTest, ThreadsDoNotChangeTheBytes) {
  const FileMatrix file(GetParam(), 67, 256, 22);
  ThreadTeam one(1), three(3);
  const Result<PackedMatrix> a = PackMatrix(file.view(), one), b = PackMatrix(file.view(), three);
  ASSERT_TRUE(a.has_value() && b.has_value());
  ASSERT_EQ(a->data.size_bytes(), b->data.size_bytes());
  EXPECT_EQ(std::memcmp(a->data.data(), b->data.data(), a->data.size_bytes()), 0);
}

TEST_P(PackTest, StaysNearTheSizeOfTheFile) {
  constexpr int64_t kRows = 256, kCols = 1536;
  const double file_bytes = static_cast<double>(TensorView::RowBytes(GetParam(), kCols) * kRows);
  EXPECT_LE(static_cast<double>(PackedBytes(GetParam(), kRows, kCols)), 1.06 * file_bytes);
}

std::string NameOfParam(const ::testing::TestParamInfo<DType>& info) { return std::string(NameOf(info.param)); }
INSTANTIATE_TEST_SUITE_P(Quantized, PackTest, ::testing::ValuesIn(testing::kQuantized), NameOfParam);
INSTANTIATE_TEST_SUITE_P(Plain, PackTest, ::testing::ValuesIn(testing::kPlain), NameOfParam);

TEST(PackMatrixTest, ExpertsAreRowsAndIntegersAreRefused) {
  const FileMatrix file(DType::kF32, 24, 32, 23);
  TensorView experts = file.view();
  experts.shape = {3, 8, 32};
  ThreadTeam team(1);
  const Result<PackedMatrix> packed = PackMatrix(experts, team);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->num_rows, 24);

  std::vector<std::byte> bytes(64);
  const TensorView integers{bytes.data(), DType::kI32, {2, 8}};
  const Result<PackedMatrix> refused = PackMatrix(integers, team);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
}

TEST(PackMatrixTest, F64IsNarrowed) {
  const std::vector<double> values = {1.0 + 0x1p-40, -2.5, 4.0};
  const TensorView view{reinterpret_cast<const std::byte*>(values.data()), DType::kF64, {1, 3}};
  ThreadTeam team(1);
  const Result<PackedMatrix> packed = PackMatrix(view, team);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(ReadBack(*packed), (std::vector<float>{1.0f, -2.5f, 4.0f}));
}

}  // namespace
}  // namespace quern::ops::cpu
