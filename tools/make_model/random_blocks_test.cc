#include "make_model/random_blocks.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tensor/codec.h"

namespace quern::tools {
namespace {

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,    DType::kBF16,   DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                            DType::kQ5_1, DType::kQ8_0,   DType::kQ2_K,   DType::kQ3_K, DType::kQ4_K, DType::kQ5_K,
                            DType::kQ6_K, DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};

class RandomBlocks : public ::testing::TestWithParam<DType> {};

std::vector<std::byte> Make(DType type, double stddev, uint64_t seed, int64_t num_blocks) {
  std::vector<std::byte> blocks(static_cast<size_t>(num_blocks * InfoOf(type).block_bytes));
  BlockFiller(type, stddev).Fill(seed, blocks);
  return blocks;
}

// Decoded values have the spread that was asked for, no bias and nothing that is not finite.
TEST_P(RandomBlocks, HaveTheWantedDistribution) {
  constexpr double kWanted = 0.02;
  const DTypeInfo& info = InfoOf(GetParam());
  const int64_t num_blocks = (1 << 20) / info.block_elems;
  const std::vector<std::byte> blocks = Make(GetParam(), kWanted, 7, num_blocks);
  std::vector<float> values(static_cast<size_t>(num_blocks * info.block_elems));
  DecodeRow(GetParam(), blocks.data(), values);
  double sum = 0, squares = 0;
  for (const float value : values) {
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double count = static_cast<double>(values.size());
  // A million values: sampling noise is below 0.5 %; scales differ from block to block, and MXFP4 has few exponents.
  EXPECT_NEAR(std::sqrt(squares / count), kWanted, 0.03 * kWanted);
  EXPECT_NEAR(sum / count, 0, 0.02 * kWanted);
  EXPECT_TRUE(ValidateBlocks(GetParam(), blocks.data(), num_blocks).has_value());
}

TEST_P(RandomBlocks, FollowTheSeed) {
  EXPECT_EQ(Make(GetParam(), 1, 3, 100), Make(GetParam(), 1, 3, 100));
  EXPECT_NE(Make(GetParam(), 1, 3, 100), Make(GetParam(), 1, 4, 100));
}

INSTANTIATE_TEST_SUITE_P(Types, RandomBlocks, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

}  // namespace
}  // namespace quern::tools
