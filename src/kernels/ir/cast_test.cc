// Every cast of the IR against plain C++, and the 16-bit floats against arithmetic on their definition, all codes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/evaluate.h"

namespace quern::kernels::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 0x1p-149f, kLargest = std::numeric_limits<float>::max();
constexpr int32_t kIntMin = std::numeric_limits<int32_t>::min(), kIntMax = std::numeric_limits<int32_t>::max();
const std::vector<float> kFloats = {0.0f,       -0.0f,     1.0f,      -1.0f, 0.5f,        -2.5f,    3.0f,
                                    kTiny,      -kTiny,    0x1p-126f, 1e-40, 0.33333334f, -7e30f,   0x1p-126f,
                                    16777216.f, 0x1p-100f, kInf,      -kInf, kNan,        kLargest, -kLargest};
const std::vector<int32_t> kInts = {0,   1,     -1,     2,          -2,      7,           127,    -128,
                                    255, 65535, -65536, 0x12345678, kIntMin, kIntMin + 1, kIntMax};
const std::vector<uint64_t> kLongs = {
    0, 1, 5, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x123456789ABCDEF0, ~uint64_t{0}};

uint64_t Bits(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t Bits(int32_t v) { return static_cast<uint32_t>(v); }
float Float(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

uint64_t Cast(Type to, Type from, uint64_t bits) {
  bool ok = true;
  const uint64_t value = Apply({Op::kCast, to, 1}, from, &bits, ok);
  EXPECT_TRUE(ok);
  return value;
}

// Bit for bit, but any NaN equals any NaN.
void ExpectFloat(uint64_t bits, float expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(Float(bits))) << what << " is " << Float(bits);
  } else {
    EXPECT_EQ(bits, Bits(expected)) << what << " is " << Float(bits) << ", not " << expected;
  }
}

// Between integers a cast is C++'s: sign or zero extension, or the low bits.
template <typename From>
void TestIntegerCasts(Type from, const std::vector<uint64_t>& values) {
  for (const uint64_t bits : values) {
    const From value = static_cast<From>(bits);
    const uint64_t own = static_cast<std::make_unsigned_t<From>>(value);
    EXPECT_EQ(Cast(kI8, from, own), static_cast<uint8_t>(value));
    EXPECT_EQ(Cast(kU8, from, own), static_cast<uint8_t>(value));
    EXPECT_EQ(Cast(kU16, from, own), static_cast<uint16_t>(value));
    EXPECT_EQ(Cast(kI32, from, own), static_cast<uint32_t>(value)) << NameOf(from.scalar) << ' ' << +value;
    EXPECT_EQ(Cast(kU32, from, own), static_cast<uint32_t>(value)) << NameOf(from.scalar) << ' ' << +value;
    EXPECT_EQ(Cast(kU64, from, own), static_cast<uint64_t>(value)) << NameOf(from.scalar) << ' ' << +value;
    ExpectFloat(Cast(kF32, from, own), static_cast<float>(value), std::to_string(value));
  }
}
TEST(Cast, Integers) {
  std::vector<uint64_t> values = kLongs;
  for (const int32_t v : kInts) values.push_back(Bits(v));
  for (uint64_t v = 0; v < 256; ++v) values.push_back(v);
  TestIntegerCasts<int8_t>(kI8, values);
  TestIntegerCasts<uint8_t>(kU8, values);
  TestIntegerCasts<uint16_t>(kU16, values);
  TestIntegerCasts<int32_t>(kI32, values);
  TestIntegerCasts<uint32_t>(kU32, values);
  TestIntegerCasts<uint64_t>(kU64, values);
  for (const Type to : {kI8, kU8, kU16, kI32, kU32, kU64}) {
    EXPECT_EQ(Cast(to, kPred, 0), 0u);
    EXPECT_EQ(Cast(to, kPred, 1), 1u);
  }
  EXPECT_EQ(Cast(kF32, kPred, 1), Bits(1.0f));
}

TEST(Cast, IntegersToF32RoundToNearestEven) {
  EXPECT_EQ(Cast(kF32, kU32, 16777217), Bits(16777216.0f));
  EXPECT_EQ(Cast(kF32, kU32, 16777219), Bits(16777220.0f));
  EXPECT_EQ(Cast(kF32, kU32, 0xFFFFFFFF), Bits(4294967296.0f));
  EXPECT_EQ(Cast(kF32, kI32, Bits(-16777217)), Bits(-16777216.0f));
  EXPECT_EQ(Cast(kF32, kI32, Bits(kIntMin)), Bits(-2147483648.0f));
  EXPECT_EQ(Cast(kF32, kU64, ~uint64_t{0}), Bits(0x1p64f));
  EXPECT_EQ(Cast(kF32, kU64, 0x8000008000000001), Bits(0x1.000002p63f));  // just above the middle
  EXPECT_EQ(Cast(kF32, kU64, 0x8000008000000000), Bits(0x1p63f));         // the middle
}

TEST(Cast, F32ToIntegersTruncatesAndSaturates) {
  struct Case {
    float in;
    int32_t i32;
    uint32_t u32;
  };
  const Case cases[] = {{0.0f, 0, 0},
                        {-0.0f, 0, 0},
                        {0.99999994f, 0, 0},
                        {-0.99999994f, 0, 0},
                        {1.5f, 1, 1},
                        {-1.5f, -1, 0},
                        {kTiny, 0, 0},
                        {2147483520.0f, 2147483520, 2147483520u},
                        {2147483648.0f, kIntMax, 2147483648u},
                        {-2147483648.0f, kIntMin, 0},
                        {-2147483904.0f, kIntMin, 0},
                        {4294967040.0f, kIntMax, 4294967040u},
                        {4294967296.0f, kIntMax, 0xFFFFFFFFu},
                        {kLargest, kIntMax, 0xFFFFFFFFu},
                        {-kLargest, kIntMin, 0},
                        {kInf, kIntMax, 0xFFFFFFFFu},
                        {-kInf, kIntMin, 0},
                        {kNan, 0, 0},
                        {-kNan, 0, 0}};
  for (const Case& c : cases) {
    EXPECT_EQ(Cast(kI32, kF32, Bits(c.in)), Bits(c.i32)) << c.in;
    EXPECT_EQ(Cast(kU32, kF32, Bits(c.in)), c.u32) << c.in;
  }
}

// A 16-bit float by its parameters, with arithmetic instead of bit operations.
struct Format {
  Type type;
  int fraction_bits, bias;

  double Decode(uint32_t code) const {
    const int fraction = static_cast<int>(code % (1u << fraction_bits));
    const int exponent = static_cast<int>(code % 0x8000 >> fraction_bits);
    const double sign = code >= 0x8000 ? -1 : 1;
    if (exponent == 2 * bias + 1) return fraction == 0 ? sign * kInf : kNan;
    const int lead = exponent == 0 ? 0 : 1 << fraction_bits;
    return sign * std::ldexp(lead + fraction, std::max(exponent, 1) - bias - fraction_bits);
  }
  // Rounds to the grid of the format; nearbyint takes halves to even.
  double Round(float value) const {
    if (!std::isfinite(value) || value == 0) return value;
    const int exponent = std::max(std::ilogb(value), 1 - bias) - fraction_bits;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(value), -exponent)), exponent);
    return std::abs(rounded) >= std::ldexp(1.0, bias + 1) ? std::copysign(kInf, rounded) : rounded;
  }
};
constexpr Format kHalf{kF16, 10, 15}, kBrain{kBF16, 7, 127};

TEST(Cast, F16AndBF16ToF32AreExact) {
  for (const Format& f : {kHalf, kBrain}) {
    for (uint32_t code = 0; code < 0x10000; ++code)
      ExpectFloat(Cast(kF32, f.type, code), static_cast<float>(f.Decode(code)), std::to_string(code));
  }
}

TEST(Cast, F32ToF16AndBF16RoundsToNearestEven) {
  for (const Format& f : {kHalf, kBrain}) {
    for (uint32_t code = 0; code < 0x10000; ++code) {
      const float value = static_cast<float>(f.Decode(code));
      if (std::isnan(value)) continue;
      ASSERT_EQ(Cast(f.type, kF32, Bits(value)), code);
      if (std::isinf(value)) continue;
      // The middle between this value and the next, and its neighbours: down, to even, up.
      const double next = std::isinf(f.Decode(code + 1)) ? std::ldexp(1.0, f.bias + 1) : std::abs(f.Decode(code + 1));
      const float middle = static_cast<float>(std::copysign((std::abs(static_cast<double>(value)) + next) / 2, value));
      for (const float near : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 2 * middle)}) {
        const double expected = f.Round(near), got = f.Decode(static_cast<uint32_t>(Cast(f.type, kF32, Bits(near))));
        ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(expected)) << near << " of code " << code;
      }
    }
    for (const float value : kFloats) {
      const uint64_t code = Cast(f.type, kF32, Bits(value));
      if (std::isnan(value)) continue;
      EXPECT_EQ(f.Decode(static_cast<uint32_t>(code)), f.Round(value)) << value;
    }
  }
  EXPECT_EQ(Cast(kF16, kF32, Bits(65519.996f)), 0x7BFFu);
  EXPECT_EQ(Cast(kF16, kF32, Bits(65520.0f)), 0x7C00u);
  EXPECT_EQ(Cast(kF16, kF32, Bits(-65520.0f)), 0xFC00u);
  EXPECT_EQ(Cast(kF16, kF32, Bits(0x1p-24f)), 0x0001u);
  EXPECT_EQ(Cast(kF16, kF32, Bits(0x1p-25f)), 0x0000u);
  EXPECT_EQ(Cast(kF16, kF32, Bits(-0.0f)), 0x8000u);
  EXPECT_EQ(Cast(kBF16, kF32, Bits(kLargest)), 0x7F80u);
  EXPECT_EQ(Cast(kBF16, kF32, Bits(-kLargest)), 0xFF80u);
}

TEST(Cast, EveryNanBecomesOne) {
  for (const uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u, 0x7FFFFFFFu, 0x7FA00000u}) {
    EXPECT_EQ(Cast(kF16, kF32, nan), 0x7FFFu);
    EXPECT_EQ(Cast(kBF16, kF32, nan), 0x7FFFu);
  }
}

}  // namespace
}  // namespace quern::kernels::ir
