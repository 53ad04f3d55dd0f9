// Errors of exp, tanh and GELU against f64 over floats of every exponent, and their limits.
#include "ops/math.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

namespace quern::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// |actual - expected| in units of the last place of the float nearest to `expected`.
double UlpError(float actual, double expected) {
  const double magnitude = std::max(std::fabs(expected), 0x1p-126);
  return std::fabs(actual - expected) / std::ldexp(1.0, std::ilogb(magnitude) - 23);
}

// Every 997th float: all exponents and signs, 4 million values.
template <typename Body>
void ForFloats(const Body& body) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (x == x) body(x);
  }
}

TEST(MathTest, ExpIsWithinOneUlp) {
  double worst = 0;
  ForFloats([&](float x) {
    const double expected = std::exp(double{x});
    if (x > 88.722839f) {
      ASSERT_EQ(Exp(x), kInf) << x;
    } else if (expected < 0x1p-151) {
      ASSERT_EQ(Exp(x), 0.0f) << x;
    } else {
      worst = std::max(worst, UlpError(Exp(x), expected));
    }
  });
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 1.0);
  EXPECT_GT(worst, 0.4);  // the measure itself works
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(MathTest, TanhIsWithinTwoUlp) {
  double worst = 0;
  ForFloats([&](float x) { worst = std::max(worst, UlpError(Tanh(x), std::tanh(double{x}))); });
  RecordProperty("worst_ulp", std::to_string(worst));
  EXPECT_LE(worst, 2.0);
  EXPECT_EQ(Tanh(kInf), 1.0f);
  EXPECT_EQ(Tanh(-kInf), -1.0f);
  EXPECT_TRUE(std::signbit(Tanh(-0.0f)));
  EXPECT_TRUE(std::isnan(Tanh(std::numeric_limits<float>::quiet_NaN())));
}

TEST(MathTest, GeluIsCloseToItsDefinition) {
  double worst = 0;
  ForFloats([&](float x) {
    if (std::fabs(x) > 1e6f) return;
    const double u = 0.79788456080286535588 * (x + 0.044715 * double{x} * x * x);
    const double expected = 0.5 * x * (1 + std::tanh(u));
    worst = std::max(worst, std::fabs(GeluTanh(x) - expected) / std::max(std::fabs(double{x}), 0x1p-126));
  });
  RecordProperty("worst_relative_to_x", std::to_string(worst));
  EXPECT_LE(worst, 0x1p-21);
  EXPECT_EQ(GeluTanh(100.0f), 100.0f);
  EXPECT_EQ(GeluTanh(-100.0f), 0.0f);
  EXPECT_EQ(GeluTanh(kInf), kInf);
}

}  // namespace
}  // namespace quern::ops
