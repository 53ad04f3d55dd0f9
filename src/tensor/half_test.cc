#include "tensor/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace quern {
namespace {

// The value of a 16-bit float with the given field widths, by its definition, in double (exact).
double Definition(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = bits & ((1u << mantissa_bits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0.0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(std::ldexp(1.0, mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

struct Format {
  int exponent_bits, mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};
constexpr Format kFormats[] = {{5, 10, HalfToFloat, FloatToHalf}, {8, 7, Bf16ToFloat, FloatToBf16}};

TEST(Half, EveryPatternWidensToItsDefinitionAndComesBack) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = format.widen(static_cast<uint16_t>(bits));
      const double expected = Definition(bits, format.exponent_bits, format.mantissa_bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value)) << bits;
        ASSERT_TRUE(std::isnan(format.widen(format.narrow(value)))) << bits;
        continue;
      }
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
      ASSERT_EQ(format.narrow(value), bits);
    }
  }
}

// Between each two neighbours: exactly halfway goes to the even pattern, one ulp of binary32 to either side goes to the
// near one. This covers subnormals, the step to normals, and the step to infinity (where the neighbour is "2^emax").
TEST(Half, RoundsToNearestEven) {
  for (const Format& format : kFormats) {
    const uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    for (uint32_t low = 0; low < infinity; ++low) {
      const double below = Definition(low, format.exponent_bits, format.mantissa_bits);
      const double above = low + 1 == infinity ? std::ldexp(1.0, 1 << (format.exponent_bits - 1))
                                               : Definition(low + 1, format.exponent_bits, format.mantissa_bits);
      const float middle = static_cast<float>((below + above) / 2);
      ASSERT_EQ(static_cast<double>(middle), (below + above) / 2) << "binary32 holds every halfway point";
      const uint32_t even = low % 2 == 0 ? low : low + 1;
      const float before = std::nextafter(middle, 0.0f);
      const float after = std::nextafter(middle, std::numeric_limits<float>::infinity());
      for (const uint32_t sign : {0u, 0x8000u}) {
        const float factor = sign != 0 ? -1.0f : 1.0f;
        ASSERT_EQ(format.narrow(factor * middle), (even | sign)) << middle;
        ASSERT_EQ(format.narrow(factor * before), (low | sign)) << before;
        ASSERT_EQ(format.narrow(factor * after), ((low + 1) | sign)) << after;
      }
    }
  }
}

TEST(Half, SpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(FloatToHalf(kInfinity), 0x7C00);
  EXPECT_EQ(FloatToHalf(-kInfinity), 0xFC00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(FloatToBf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(FloatToBf16(-kInfinity), 0xFF80);
  // A NaN whose payload lies only in the bits that are cut off must not become infinity.
  const float low_nan = std::bit_cast<float>(0x7F800001u);
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(low_nan))));
  EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(low_nan))));
  EXPECT_EQ(FloatToHalf(std::bit_cast<float>(0xFFC00000u)) & 0x8000, 0x8000) << "the sign of a NaN is kept";
}

}  // namespace
}  // namespace quern
