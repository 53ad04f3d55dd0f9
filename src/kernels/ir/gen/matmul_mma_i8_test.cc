// The int8 mma.sync product, interpreted, equals the numerics contract of class dot-i8 bit for bit: block b into chain
// b mod 8, each block's exact integer sum scaled by one fma, chains combined 4, 2, 1.
#include "kernels/ir/gen/matmul_mma_i8.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/descriptor/catalogue.h"
#include "kernels/ir/gen/matmul_case.h"
#include "kernels/ir/interpreter.h"

namespace quern::kernels::ir::gen {
namespace {

struct Case {
  DType format;
  uint32_t rows, n, k;
  Schedule schedule;
};

std::string NameOfCase(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(quern::NameOf(c.format)) + "_r" + std::to_string(c.rows) + "_n" + std::to_string(c.n) + "_k" +
         std::to_string(c.k) + "_split" + std::to_string(c.schedule.split) + "_u" + std::to_string(c.schedule.unroll) +
         "_p" + std::to_string(c.schedule.rows_per_warp);
}

class MatmulMmaI8Test : public testing::TestWithParam<Case> {};

TEST_P(MatmulMmaI8Test, EqualsTheContract) {
  const Case& c = GetParam();
  const MatmulCase data = RandomMatmul(c.format, c.rows, c.n, c.k, 11);
  const auto kernel = MatmulMmaI8(Rp16MatmulDescriptor(c.format, c.k % 256 == 0 ? 256 : 32), c.schedule);
  ASSERT_TRUE(kernel.has_value()) << kernel.error().ToString();

  Rp16Operands operands = OperandsOf(data);
  std::vector<float> y(size_t{c.rows} * c.n, std::bit_cast<float>(0x7FA00000u));
  Launch launch;
  launch.params = {c.rows, c.n, c.k / 32};
  launch.buffers = operands.Buffers(y);
  launch.seed = 3;
  const Status ran =
      Interpret(*kernel, launch, {.written_in_full = {static_cast<uint32_t>(kernel->buffers.size()) - 1}});
  ASSERT_TRUE(ran.has_value()) << ran.error().ToString();
  for (uint32_t r = 0; r < c.rows; ++r) {
    for (uint32_t n = 0; n < c.n; ++n) {
      const float expected = DotI8(data, r, n);
      ASSERT_EQ(std::bit_cast<uint32_t>(y[size_t{r} * c.n + n]), std::bit_cast<uint32_t>(expected))
          << "row " << r << ", output " << n << ": " << y[size_t{r} * c.n + n] << " and " << expected;
    }
  }
}

constexpr Schedule kWide{.mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 2, .split = 1, .unroll = 1, .stages = 3};
constexpr Schedule kPairs{.mma = Mma::kM16N8K32, .warps = 4, .split = 4, .unroll = 1, .stages = 2};
constexpr Schedule kChains{.mma = Mma::kM16N8K32, .warps = 8, .split = 8, .unroll = 2, .stages = 2};
constexpr Schedule kTwoWarps{
    .mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 3, .split = 2, .unroll = 1, .stages = 3};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DType f :
       {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K, DType::kQ3_K, DType::kQ4_K,
        DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4}) {
    cases.push_back({f, 3, 40, 768, kWide});
  }
  for (const DType f : {DType::kQ4_0, DType::kQ4_1, DType::kQ4_K, DType::kQ6_K}) {
    cases.push_back({f, 1, 16, 1024, kPairs});
    cases.push_back({f, 9, 17, 1280, kChains});
    cases.push_back({f, 2, 50, 512, kTwoWarps});
  }
  // Rows of x and of W at the tile's edges, K that ends inside a group and inside a pair.
  for (const uint32_t rows : {1u, 8u, 9u}) cases.push_back({DType::kQ4_0, rows, 130, 544, kWide});
  for (const uint32_t k : {704u, 1056u, 2816u}) cases.push_back({DType::kQ8_0, 2, 33, k, kChains});
  for (const uint32_t k : {704u, 992u}) cases.push_back({DType::kQ4_0, 2, 1, k, kPairs});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Formats, MatmulMmaI8Test, testing::ValuesIn(Cases()), NameOfCase);

TEST(MatmulMmaI8, RefusesWhatItDoesNotServe) {
  Descriptor d = Rp16MatmulDescriptor(DType::kQ4_K, 32);
  EXPECT_FALSE(MatmulMmaI8(d, kWide).has_value()) << "K of half a superblock";
  d = Rp16MatmulDescriptor(DType::kQ4_0, 32);
  d.weights[0].layout = Layout::kFile;
  EXPECT_FALSE(MatmulMmaI8(d, kWide).has_value()) << "the file's layout";
  d = Rp16MatmulDescriptor(DType::kQ4_0, 32);
  EXPECT_EQ(MatmulMmaI8(d, {.mma = Mma::kM16N8K32, .stages = 8})->params[2].min, 49u) << "seven groups are in flight";
}

}  // namespace
}  // namespace quern::kernels::ir::gen
