// Properties of decoding that hold for every format: closed forms element by element, special scales, plain numbers.
#include "tensor/codec.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/codec_k_scales.h"
#include "tensor/half.h"

namespace quern {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<DType> QuantisedTypes() {
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (InfoOf(static_cast<DType>(i)).is_quantized) types.push_back(static_cast<DType>(i));
  }
  return types;
}

// Where the binary16 scale of a block lies; MXFP4 has none.
int OffsetOfScale(DType type) {
  switch (type) {
    case DType::kQ2_K:
      return 80;
    case DType::kQ3_K:
      return 108;
    case DType::kQ6_K:
      return 208;
    default:
      return 0;
  }
}
// Where the second binary16 (min or dmin) lies, or -1.
int OffsetOfMin(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return 2;
    case DType::kQ2_K:
      return 82;
    default:
      return -1;
  }
}

std::vector<std::byte> RandomBlock(DType type, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> block(static_cast<size_t>(InfoOf(type).block_bytes));
  for (std::byte& byte : block) byte = static_cast<std::byte>(random());
  return block;
}

std::vector<float> DecodeWith(DType type, std::vector<std::byte> block, uint16_t d, uint16_t min) {
  std::memcpy(block.data() + OffsetOfScale(type), &d, 2);
  if (OffsetOfMin(type) >= 0) std::memcpy(block.data() + OffsetOfMin(type), &min, 2);
  std::vector<float> values(static_cast<size_t>(InfoOf(type).block_elems));
  DecodeRow(type, block.data(), values);
  return values;
}

// With both scales zero, of either sign, every value is zero; nothing else of the block shows.
TEST(Decode, ZeroScales) {
  for (const DType type : QuantisedTypes()) {
    if (type == DType::kMXFP4) continue;
    for (const uint16_t zero : {uint16_t{0x0000}, uint16_t{0x8000}}) {
      for (const float value : DecodeWith(type, RandomBlock(type, 1), zero, zero))
        ASSERT_EQ(value, 0.0f) << NameOf(type);
    }
  }
}

// Decoding is linear in the scales, and doubling is exact: d and -2d give values of ratio -2, also when d is the
// smallest subnormal half.
TEST(Decode, NegativeAndSubnormalScales) {
  for (const DType type : QuantisedTypes()) {
    if (type == DType::kMXFP4) continue;
    for (const uint16_t d : {FloatToHalf(0.0173f), uint16_t{0x0001}, uint16_t{0x0155}}) {
      const uint16_t twice = FloatToHalf(-2.0f * HalfToFloat(d));
      for (uint32_t seed = 0; seed < 20; ++seed) {
        const std::vector<float> values = DecodeWith(type, RandomBlock(type, seed), d, d);
        const std::vector<float> doubled = DecodeWith(type, RandomBlock(type, seed), twice, twice);
        float largest = 0.0f;
        for (size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(doubled[i], -2.0f * values[i]) << NameOf(type);
          largest = std::fmax(largest, std::fabs(values[i]));
        }
        ASSERT_GT(largest, 0.0f) << NameOf(type) << ": a subnormal scale is not flushed to zero";
      }
    }
  }
}

// An infinite scale gives infinities and, where the code is zero, not-a-number. Nothing finite may come out of it, and
// a NaN scale spoils all.
TEST(Decode, InfiniteAndNanScalesPropagate) {
  for (const DType type : QuantisedTypes()) {
    if (type == DType::kMXFP4) continue;
    for (uint32_t seed = 0; seed < 20; ++seed) {
      for (const float value : DecodeWith(type, RandomBlock(type, seed), 0x7E00, 0x0000))
        ASSERT_TRUE(std::isnan(value)) << NameOf(type);
      for (const float value : DecodeWith(type, RandomBlock(type, seed), 0x7C00, 0x0000))
        ASSERT_FALSE(std::isfinite(value)) << NameOf(type);
      if (OffsetOfMin(type) < 0) continue;
      for (const float value : DecodeWith(type, RandomBlock(type, seed), 0x0000, 0x7E00))
        ASSERT_TRUE(std::isnan(value)) << NameOf(type);
    }
  }
}

// Rows are the concatenation of their blocks: no state passes from one to the next. One block (K = QK) is a row too.
TEST(Decode, RowsAreBlockByBlock) {
  for (const DType type : QuantisedTypes()) {
    const size_t elems = static_cast<size_t>(InfoOf(type).block_elems);
    std::vector<std::byte> row;
    std::vector<float> expected;
    for (uint32_t seed = 0; seed < 5; ++seed) {
      const std::vector<std::byte> block = RandomBlock(type, seed);
      row.insert(row.end(), block.begin(), block.end());
      std::vector<float> values(elems);
      DecodeRow(type, block.data(), values);
      expected.insert(expected.end(), values.begin(), values.end());
    }
    std::vector<float> decoded(expected.size());
    DecodeRow(type, row.data(), decoded);
    EXPECT_EQ(std::memcmp(decoded.data(), expected.data(), decoded.size() * sizeof(float)), 0) << NameOf(type);
    DecodeRow(type, row.data(), {});  // an empty row is allowed and writes nothing
  }
}

TEST(Decode, MxfpScalesReachBothEndsExactly) {
  std::vector<std::byte> block(17);
  for (int i = 0; i < 16; ++i) block[static_cast<size_t>(1 + i)] = static_cast<std::byte>(i | 1 << 4);
  const double table[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};  // E2M1
  std::vector<float> values(32);
  for (int e = 0; e < 253; ++e) {
    block[0] = static_cast<std::byte>(e);
    DecodeRow(DType::kMXFP4, block.data(), values);
    for (int i = 0; i < 16; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], std::ldexp(table[i], e - 127)) << e;
    for (int i = 16; i < 32; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], std::ldexp(0.5, e - 127)) << e;
  }
}

TEST(Decode, PlainNumbers) {
  const auto decode = [](DType type, const auto& numbers) {
    std::vector<float> values(std::size(numbers));
    DecodeRow(type, reinterpret_cast<const std::byte*>(std::data(numbers)), values);
    return values;
  };
  using testing::ElementsAre;
  EXPECT_THAT(decode(DType::kI8, std::vector<int8_t>{-128, 0, 127}), ElementsAre(-128, 0, 127));
  EXPECT_THAT(decode(DType::kI16, std::vector<int16_t>{-32768, 32767}), ElementsAre(-32768, 32767));
  // 2^24 + 1 lies between two floats and goes to the even one.
  EXPECT_THAT(decode(DType::kI32, std::vector<int32_t>{-5, (1 << 24) + 1}), ElementsAre(-5, 1 << 24));
  EXPECT_THAT(decode(DType::kI64, std::vector<int64_t>{int64_t{1} << 40}), ElementsAre(0x1p40f));
  EXPECT_THAT(decode(DType::kF64, std::vector<double>{0.1, -kInfinity}), ElementsAre(0.1f, -kInfinity));
  EXPECT_THAT(decode(DType::kF32, std::vector<float>{1.5f, kInfinity}), ElementsAre(1.5f, kInfinity));
  EXPECT_THAT(decode(DType::kF16, std::vector<uint16_t>{0x3C00, 0xFC00}), ElementsAre(1, -kInfinity));
  EXPECT_THAT(decode(DType::kBF16, std::vector<uint16_t>{0x3F80, 0x7F80}), ElementsAre(1, kInfinity));
  EXPECT_TRUE(std::isnan(decode(DType::kF16, std::vector<uint16_t>{0x7E01})[0]));
  EXPECT_TRUE(std::isnan(decode(DType::kF32, std::vector<float>{std::nanf("")})[0]));
}

// Unpacking inverts packing for every scale and min in every position.
TEST(Scales, SixBitScalesSurvivePacking) {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    uint8_t scales[8], mins[8], packed[12];
    for (int j = 0; j < 8; ++j) {
      scales[j] = random() & 63;
      mins[j] = random() & 63;
    }
    codec::PackScalesAndMins(scales, mins, packed);
    for (int j = 0; j < 8; ++j) {
      ASSERT_EQ(codec::UnpackScale(packed, j), scales[j]);
      ASSERT_EQ(codec::UnpackMin(packed, j), mins[j]);
    }
    int8_t signed_scales[16];
    for (int8_t& scale : signed_scales) scale = static_cast<int8_t>(static_cast<int>(random() & 63) - 32);
    codec::PackSignedScales(signed_scales, packed);
    for (int j = 0; j < 16; ++j) ASSERT_EQ(codec::UnpackSignedScale(packed, j), signed_scales[j]);
  }
}

TEST(ValidateBlocks, RefusesTheNanExponentOfMxfp4Only) {
  std::vector<std::byte> blocks(17 * 4, std::byte{255});
  for (size_t block = 0; block < 4; ++block) blocks[17 * block] = std::byte{254};
  EXPECT_TRUE(ValidateBlocks(DType::kMXFP4, blocks.data(), 4));
  blocks[17 * 3] = std::byte{255};
  EXPECT_TRUE(ValidateBlocks(DType::kMXFP4, blocks.data(), 3));
  const Status status = ValidateBlocks(DType::kMXFP4, blocks.data(), 4);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kCorrupt);
  EXPECT_THAT(status.error().message, testing::HasSubstr("block 3"));
  EXPECT_TRUE(ValidateBlocks(DType::kQ4_0, blocks.data(), 3));
}

}  // namespace
}  // namespace quern
