// Quantised rows equal the definition of QA8 bit for bit, with NaN, infinities, tiny values, ragged rows and K.
#include "kernels/ir/gen/quantize_rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/interpreter.h"
#include "kernels/layout/qa8_tile.h"
#include "tensor/code_form.h"

namespace quern::kernels::ir::gen {
namespace {

class QuantizeRowsTest : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

TEST_P(QuantizeRowsTest, EqualsTheDefinition) {
  const auto [rows, k] = GetParam();
  const auto kernel = QuantizeRows({.family = Family::kQuantizeRows,
                                    .in = Encoding::kF32,
                                    .out = Encoding::kQa8,
                                    .dims = {{"K", 32, 1 << 16, 32}, {"R", 1, 1 << 16, 1}}},
                                   {.warps = 4});
  ASSERT_TRUE(kernel.has_value()) << kernel.error().ToString();
  std::vector<float> x(size_t{rows} * k);
  std::mt19937 random(rows + k);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < x.size(); ++i) x[i] = normal(random) * std::exp2(static_cast<float>(i / 32 % 40) * 8 - 160);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  if (x.size() > 100) x[40] = -std::numeric_limits<float>::infinity();
  x.back() = 127;  // scale 1: the halves below round away from zero
  if (k >= 64) x[x.size() - 2] = 2.5f, x[x.size() - 3] = -3.5f;

  const Qa8TileBytes bytes = Qa8TileBytesOf(rows, k);
  std::vector<std::byte> q(static_cast<size_t>(bytes.q)), d(static_cast<size_t>(bytes.d)),
      isum(static_cast<size_t>(bytes.isum));
  Launch launch;
  launch.params = {rows, k / 32};
  launch.buffers = {std::as_writable_bytes(std::span(x)), q, d, isum};
  const Status ran = Interpret(*kernel, launch, {.written_in_full = {1, 2, 3}});
  ASSERT_TRUE(ran.has_value()) << ran.error().ToString();

  const uint32_t pairs = (k + 63) / 64;
  for (uint32_t r = 0; r < (rows + 7) / 8 * 8; ++r) {
    for (uint32_t block = 0; block < 2 * pairs; ++block) {
      const bool exists = r < rows && 32 * block < k;
      uint32_t largest = 0;
      for (uint32_t e = 0; exists && e < 32; ++e)
        largest = std::max(largest, std::bit_cast<uint32_t>(x[size_t{r} * k + 32 * block + e]) & 0x7FFFFFFFu);
      const float scale = std::bit_cast<float>(largest) / 127.0f;
      const float inverse = scale >= kQa8SmallestScale ? 1.0f / scale : 0.0f;
      const size_t plane = size_t{r / 8} * pairs + block / 2;
      float stored = 0;
      std::memcpy(&stored, d.data() + plane * 64 + r % 8 * 8 + block % 2 * 4, 4);
      if (std::isnan(scale)) {
        ASSERT_TRUE(std::isnan(stored));
      } else {
        ASSERT_EQ(stored, scale) << "row " << r << ", block " << block;
      }
      for (uint32_t half = 0; half < 2; ++half) {
        int32_t sum = 0, stored_sum = 0;
        for (uint32_t e = 16 * half; e < 16 * half + 16; ++e) {
          const float scaled = exists ? x[size_t{r} * k + 32 * block + e] * inverse : 0;
          const int code = std::isnan(scaled) ? 0 : static_cast<int>(std::round(scaled));
          const uint32_t word = (block % 2 * 32 + e) / 4, lane = 4 * (r % 8) + word % 4;
          ASSERT_EQ(static_cast<int8_t>(q[plane * 512 + lane * 16 + 4 * (word / 4) + e % 4]), code)
              << "row " << r << ", value " << 32 * block + e;
          sum += code;
        }
        std::memcpy(&stored_sum, isum.data() + plane * 128 + r % 8 * 16 + block % 2 * 8 + half * 4, 4);
        ASSERT_EQ(stored_sum, sum);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, QuantizeRowsTest,
                         testing::Values(std::pair{1u, 32u}, std::pair{8u, 1536u}, std::pair{9u, 96u},
                                         std::pair{3u, 704u}));

}  // namespace
}  // namespace quern::kernels::ir::gen
