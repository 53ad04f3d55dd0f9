// Encoding: error bounds, edge cases, importances, refusals.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensor/codec.h"

namespace quern {
namespace {

using testing::HasSubstr;

struct Bound {
  DType type;
  // Root mean square error over root mean square value, of 64 rows of 1024 normal values of deviation 0.03, without
  // and with importances (weighted by them then): the value measured with this encoder plus 2 %. For comparison, what
  // ggml's encoders (0.21) reached on other values of this distribution, without importances: Q2_K 0.296,
  // Q3_K 0.151, Q4_K 0.0714, Q5_K 0.0361, Q6_K 0.0178, IQ4_NL 0.0762, IQ4_XS 0.0768.
  double plain, weighted;
};
constexpr Bound kBounds[] = {
    {DType::kQ4_0, 0.0879, 0.0677}, {DType::kQ4_1, 0.0804, 0.0516},   {DType::kQ5_0, 0.0438, 0.0330},
    {DType::kQ5_1, 0.0387, 0.0250}, {DType::kQ8_0, 0.0055, 0.0054},   {DType::kQ2_K, 0.272, 0.170},
    {DType::kQ3_K, 0.157, 0.111},   {DType::kQ4_K, 0.0724, 0.0517},   {DType::kQ5_K, 0.0355, 0.0261},
    {DType::kQ6_K, 0.0179, 0.0125}, {DType::kIQ4_NL, 0.0780, 0.0583}, {DType::kIQ4_XS, 0.0785, 0.0588},
    {DType::kMXFP4, 0.118, 0.119},
};

std::vector<float> Encoded(DType type, std::span<const float> values, std::span<const float> weights = {}) {
  const DTypeInfo& info = InfoOf(type);
  const size_t num_bytes =
      values.size() / static_cast<size_t>(info.block_elems) * static_cast<size_t>(info.block_bytes);
  std::vector<std::byte> blocks(num_bytes);
  const Status status = EncodeRow(type, values, weights, blocks.data());
  EXPECT_TRUE(status) << NameOf(type) << ": " << status.error().ToString();
  std::vector<float> decoded(values.size());
  DecodeRow(type, blocks.data(), decoded);
  return decoded;
}

// sqrt(sum w (y - x)^2 / sum w x^2); w = 1 where weights is empty.
double RelativeError(std::span<const float> x, std::span<const float> y, std::span<const float> weights) {
  double error = 0.0, energy = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double w = weights.empty() ? 1.0 : weights[i % weights.size()];
    error += w * (y[i] - x[i]) * (y[i] - x[i]);
    energy += w * x[i] * x[i];
  }
  return std::sqrt(error / energy);
}

constexpr size_t kRows = 64, kRowElems = 1024;

std::vector<float> NormalValues(float deviation) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(kRows * kRowElems);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> RandomImportances() {
  std::mt19937 random(12);
  std::normal_distribution<float> normal;
  std::vector<float> weights(kRowElems);
  for (float& weight : weights) weight = std::exp(2.0f * normal(random));
  return weights;
}

double ErrorOfRows(DType type, std::span<const float> values, std::span<const float> weights) {
  std::vector<float> decoded;
  for (size_t row = 0; row < kRows; ++row) {
    const std::vector<float> part = Encoded(type, values.subspan(row * kRowElems, kRowElems), weights);
    decoded.insert(decoded.end(), part.begin(), part.end());
  }
  return RelativeError(values, decoded, weights);
}

TEST(Encode, ErrorStaysWithinTheMeasuredBounds) {
  const std::vector<float> values = NormalValues(0.03f), weights = RandomImportances();
  for (const Bound& bound : kBounds) {
    const double plain = ErrorOfRows(bound.type, values, {}), weighted = ErrorOfRows(bound.type, values, weights);
    RecordProperty(std::string(NameOf(bound.type)), std::to_string(plain) + " " + std::to_string(weighted));
    EXPECT_LT(plain, bound.plain) << NameOf(bound.type);
    EXPECT_LT(weighted, bound.weighted) << NameOf(bound.type);
  }
}

// An importance row must buy something: the weighted error is well below that of the plain encoding.
TEST(Encode, ImportancesLowerTheWeightedError) {
  const std::vector<float> values = NormalValues(0.03f), weights = RandomImportances();
  for (const Bound& bound : kBounds) {
    if (bound.type == DType::kQ8_0 || bound.type == DType::kMXFP4) continue;  // they ignore it, as documented
    std::vector<float> plain;
    for (size_t row = 0; row < kRows; ++row) {
      const std::vector<float> part = Encoded(bound.type, std::span(values).subspan(row * kRowElems, kRowElems));
      plain.insert(plain.end(), part.begin(), part.end());
    }
    EXPECT_LT(ErrorOfRows(bound.type, values, weights), 0.9 * RelativeError(values, plain, weights))
        << NameOf(bound.type);
  }
}

// The unit of importances does not matter, equal ones are as good as none, and spans without any are still encoded.
TEST(Encode, ImportancesOfAnyUnitAndZeros) {
  const std::vector<float> values = NormalValues(0.03f);
  const std::span<const float> row = std::span(values).first(kRowElems);
  std::vector<float> weights = RandomImportances();
  for (const Bound& bound : kBounds) {
    const double expected = RelativeError(row, Encoded(bound.type, row, weights), weights);
    for (const float unit : {1e-20f, 1e20f}) {
      std::vector<float> scaled = weights;
      for (float& weight : scaled) weight *= unit;
      EXPECT_NEAR(RelativeError(row, Encoded(bound.type, row, scaled), weights), expected, 0.02 * expected)
          << NameOf(bound.type);
    }
    EXPECT_LT(RelativeError(row, Encoded(bound.type, row, std::vector<float>(kRowElems, 0.0f)), {}), 1.1 * bound.plain);
    std::vector<float> half = std::vector<float>(kRowElems, 1.0f);
    std::fill(half.begin(), half.begin() + kRowElems / 2, 0.0f);
    EXPECT_LT(RelativeError(row, Encoded(bound.type, row, half), {}), 1.5 * bound.plain) << NameOf(bound.type);
  }
}

// Small weights press the binary16 scales into their subnormal range. Down to a deviation of 1e-4 the searches make up
// for the coarse scale; Q8_0 and the other reference encoders cannot (their rounding is fixed).
TEST(Encode, SmallValuesKeepTheirAccuracy) {
  const std::vector<float> values = NormalValues(1e-4f);
  for (const Bound& bound : kBounds) {
    const double allowed = bound.type == DType::kQ8_0 ? 0.02 : 1.1 * bound.plain;
    EXPECT_LT(ErrorOfRows(bound.type, values, {}), allowed) << NameOf(bound.type);
  }
}

// Encoding what a format has decoded must lose much less than the first encoding did. (Exactly nothing is lost in
// Q8_0: its largest code is always used. The searches may settle on another scale of equal merit.)
TEST(Encode, EncodingAgainLosesLittle) {
  const std::vector<float> values = NormalValues(0.03f);
  for (const Bound& bound : kBounds) {
    const std::vector<float> once = Encoded(bound.type, values), twice = Encoded(bound.type, once);
    EXPECT_LT(RelativeError(once, twice, {}), 0.5 * bound.plain) << NameOf(bound.type);
    if (bound.type == DType::kQ8_0 || bound.type == DType::kMXFP4) {
      EXPECT_EQ(once, twice) << NameOf(bound.type);
    }
  }
}

// All values equal, zeros of both signs, one value alone; K = QK each. Constants come back up to the 11 bits of the
// scales, which may be rounded twice; in MXFP4, up to half a step of its grid.
TEST(Encode, DegenerateBlocks) {
  for (const Bound& bound : kBounds) {
    const size_t elems = static_cast<size_t>(InfoOf(bound.type).block_elems);
    for (const float constant : {0.0f, -0.0f, 1.0f, -1.0f, 0.37f, -250.0f, 1e-3f}) {
      // IQ4_XS divides 1e-3 by 127 * 32, which leaves the scale two bits of a subnormal half; the sub-scale, a whole
      // number near 32, makes up for it to half a step.
      const std::vector<float> values(elems, constant);
      const double tolerance = bound.type == DType::kMXFP4 ? 0.25 : constant == 1e-3f ? 0.02 : 0.002;
      for (const float value : Encoded(bound.type, values)) {
        ASSERT_NEAR(value, constant, tolerance * std::fabs(constant)) << NameOf(bound.type);
      }
    }
    for (const size_t position : {size_t{0}, elems / 2, elems - 1}) {
      for (const float spike : {3.0f, -3.0f}) {
        std::vector<float> values(elems, 0.0f);
        values[position] = spike;
        const std::vector<float> decoded = Encoded(bound.type, values);
        for (size_t i = 0; i < elems; ++i) {
          const bool is_table = bound.type == DType::kIQ4_NL || bound.type == DType::kIQ4_XS;  // has no exact zero
          ASSERT_NEAR(decoded[i], values[i],
                      i == position ? 0.01
                      : is_table    ? 0.04
                                    : 0.002)
              << NameOf(bound.type) << " " << i;
        }
      }
    }
  }
}

// Magnitudes far below the smallest scale become zero; the codes are made without dividing by zero or overflowing.
TEST(Encode, VanishingBlocksBecomeZero) {
  for (const Bound& bound : kBounds) {
    if (bound.type == DType::kMXFP4) continue;  // its scales reach further down than these
    const size_t elems = static_cast<size_t>(InfoOf(bound.type).block_elems);
    for (const float tiny : {1e-10f, 1e-38f, 1e-40f, std::numeric_limits<float>::denorm_min()}) {
      std::vector<float> values(elems);
      for (size_t i = 0; i < elems; ++i) values[i] = i % 3 == 0 ? tiny : -0.5f * tiny;
      const std::vector<float> ones(elems, 1.0f);
      for (const float value : Encoded(bound.type, values)) ASSERT_EQ(value, 0.0f) << NameOf(bound.type) << " " << tiny;
      for (const float value : Encoded(bound.type, values, ones))
        ASSERT_EQ(value, 0.0f) << NameOf(bound.type) << " " << tiny;
    }
  }
}

// MXFP4 over its whole range: the exponent is exact at powers of two, and below 2^-126 the scale stops falling.
TEST(Encode, MxfpExponents) {
  for (int exponent = -149; exponent <= 127; ++exponent) {
    std::vector<float> values(32, 0.0f);
    values[5] = std::ldexp(1.0f, exponent);
    values[6] = -std::nextafter(values[5], 0.0f);  // one ulp less is in the binade below, but shares the scale
    const std::vector<float> decoded = Encoded(DType::kMXFP4, values);
    if (exponent >= -127) {
      ASSERT_EQ(decoded[5], values[5]) << exponent;
    }
    ASSERT_NEAR(decoded[6], values[6], std::fmax(0.26 * values[5], 0x1p-128)) << exponent;
  }
}

TEST(Encode, RefusesWhatCannotBeStored) {
  for (const Bound& bound : kBounds) {
    std::vector<float> values(512, 1.0f);
    std::vector<std::byte> blocks(1024, std::byte{0x5A});
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::nanf(""), -std::numeric_limits<float>::infinity()}) {
      values[300] = bad;
      const Status status = EncodeRow(bound.type, values, {}, blocks.data());
      ASSERT_FALSE(status) << NameOf(bound.type);
      EXPECT_EQ(status.error().code, Code::kInvalidArgument);
      EXPECT_THAT(status.error().message, HasSubstr("index 300"));
    }
    values[300] = 1.0f;
    std::vector<float> weights(512, 1.0f);
    for (const float bad : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
      weights[77] = bad;
      const Status status = EncodeRow(bound.type, values, weights, blocks.data());
      ASSERT_FALSE(status) << NameOf(bound.type);
      EXPECT_THAT(status.error().message, HasSubstr("index 77"));
    }
    EXPECT_TRUE(std::ranges::all_of(blocks, [](std::byte b) { return b == std::byte{0x5A}; })) << "nothing is written";
  }
  std::byte out[8];
  EXPECT_EQ(EncodeRow(DType::kI32, std::vector<float>{1.0f}, {}, out).error().code, Code::kUnsupported);
}

// Just below the limit the scale is finite and the value comes back; at the limit it would be infinite and is refused.
TEST(Encode, RefusesValuesBeyondTheScale) {
  const std::pair<DType, float> limits[] = {
      {DType::kF16, 65520.0f},       {DType::kBF16, 0x1.FFp127f},    {DType::kQ4_0, 8 * 65520.0f},
      {DType::kQ5_0, 16 * 65520.0f}, {DType::kQ8_0, 127 * 65520.0f}, {DType::kQ4_1, 65520.0f},
      {DType::kQ5_1, 65520.0f},      {DType::kQ2_K, 65520.0f},       {DType::kQ3_K, 65520.0f},
      {DType::kQ4_K, 65520.0f},      {DType::kQ5_K, 65520.0f},       {DType::kQ6_K, 65520.0f},
      {DType::kIQ4_NL, 65520.0f},    {DType::kIQ4_XS, 65520.0f}};
  for (const auto& [type, limit] : limits) {
    std::vector<float> values(256, 0.0f);
    std::vector<std::byte> blocks(1024);
    values[9] = -limit;
    const Status status = EncodeRow(type, values, {}, blocks.data());
    ASSERT_FALSE(status) << NameOf(type);
    EXPECT_THAT(status.error().message, HasSubstr("too large for " + std::string(NameOf(type))));
    for (const float sign : {1.0f, -1.0f}) {
      values[9] = sign * std::nextafter(limit, 0.0f);
      for (const bool with_weights : {false, true}) {
        const std::vector<float> ones(with_weights ? values.size() : 0, 1.0f);
        EXPECT_NEAR(Encoded(type, values, ones)[9] / values[9], 1.0, 0.002) << NameOf(type);
      }
    }
  }
}

TEST(Encode, PlainFloats) {
  const std::vector<float> values = {0.0f, -1.0f, 0.1f, 65504.0f, 0x1p-24f, 1e-30f};
  EXPECT_EQ(Encoded(DType::kF32, values), values);
  EXPECT_EQ(Encoded(DType::kF64, values), values);
  const std::vector<float> halves = Encoded(DType::kF16, values);
  EXPECT_EQ(halves[2], 0x1.998p-4f);
  EXPECT_EQ(halves[4], 0x1p-24f);
  EXPECT_EQ(halves[5], 0.0f);
  EXPECT_EQ(Encoded(DType::kBF16, values)[2], 0x1.9Ap-4f);
}

}  // namespace
}  // namespace quern
