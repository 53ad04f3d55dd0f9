// Every row-wise operation against f64, and all instruction sets against each other bit for bit, at lengths with tails.
#include "ops/cpu/elementwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "ops/cpu/test_formats.h"
#include "ops/math.h"

namespace quern::ops::cpu {
namespace {

using device::cpu::Isa;
using testing::RandomFloats;
using testing::SameBits;

const ElementwiseKernels& Best() { return FindElementwise(BestIsa(device::cpu::CpuFeatures::Host())); }
const ElementwiseKernels& Portable() { return FindElementwise(Isa::kPortable); }
const ElementwiseKernels* const kBoth[] = {&Portable(), &Best()};

constexpr int64_t kLengths[] = {1, 3, 7, 8, 9, 64, 100, 256, 1536};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void ExpectSame(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(SameBits(a[i], b[i])) << i << ": " << a[i] << " " << b[i];
}

// Floats of every size, and what lies outside of the numbers.
std::vector<float> Unusual() {
  std::vector<float> x = {0.0f,   -0.0f,  kInf,   -kInf,   kNan,    1e-45f, -1e-40f,
                          88.72f, 88.73f, -87.4f, -103.9f, -104.1f, 1e30f,  -1e30f};
  for (int i = -400; i <= 400; ++i)
    x.push_back(0.0497f * static_cast<float>(i) * std::fabs(static_cast<float>(i)) / 30.0f);
  return x;
}

TEST(ElementwiseTest, RmsNormMatchesF64) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = RandomFloats(n, 1), w = RandomFloats(n, 2);
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-6);
    for (const ElementwiseKernels* k : kBoth) {
      std::vector<float> y(n), bare = x;
      k->rms_norm(x.data(), w.data(), y.data(), n, 1e-6f);
      k->rms_norm(bare.data(), nullptr, bare.data(), n, 1e-6f);  // in place, without weight
      for (int64_t i = 0; i < n; ++i) {
        // The sum of squares has n / 8 + 3 roundings at most, of which the root takes half; 5 more follow. They add up
        // as a random walk: 32 ulp are far above it and far below any real fault.
        EXPECT_NEAR(y[i], x[i] * factor * w[i], 32 * 0x1p-24 * std::fabs(x[i] * factor * w[i]));
        EXPECT_NEAR(bare[i], x[i] * factor, 32 * 0x1p-24 * std::fabs(x[i] * factor));
      }
    }
  }
}

TEST(ElementwiseTest, NormAddIsNormThenAddThenScale) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = RandomFloats(n, 3), w = RandomFloats(n, 4), r0 = RandomFloats(n, 5);
    for (const ElementwiseKernels* k : kBoth) {
      std::vector<float> normed(n), r = r0;
      k->rms_norm(x.data(), w.data(), normed.data(), n, 1e-6f);
      k->norm_add(x.data(), w.data(), r.data(), n, 1e-6f, 0.75f);
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(r[i], (r0[i] + normed[i]) * 0.75f);
    }
  }
}

TEST(ElementwiseTest, SimpleFormulas) {
  for (const int64_t n : kLengths) {
    const std::vector<float> a = RandomFloats(n, 6), b = RandomFloats(n, 7);
    for (const ElementwiseKernels* k : kBoth) {
      std::vector<float> sum = a, axpy = b, gelu(n), cap = a;
      k->add(sum.data(), b.data(), sum.data(), n, 0.5f);
      k->axpy(a.data(), 1.25f, axpy.data(), n);
      k->gelu_mul(a.data(), b.data(), gelu.data(), n);
      k->softcap(cap.data(), n, 30.0f);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(sum[i], (a[i] + b[i]) * 0.5f);
        EXPECT_EQ(axpy[i], std::fma(a[i], 1.25f, b[i]));
        EXPECT_EQ(gelu[i], GeluTanh(a[i]) * b[i]);
        EXPECT_EQ(cap[i], 30.0f * Tanh(a[i] / 30.0f));
      }
    }
  }
}

TEST(ElementwiseTest, RopeRotatesPairsAndLeavesTheRest) {
  for (const int64_t pairs : {4, 8, 13, 128}) {
    const int64_t half = pairs + 5;
    std::vector<float> cos(pairs), sin(pairs);
    for (int64_t i = 0; i < pairs; ++i) {
      cos[i] = std::cos(0.37f * static_cast<float>(i + 1));
      sin[i] = std::sin(0.37f * static_cast<float>(i + 1));
    }
    const std::vector<float> x = RandomFloats(2 * half, 8);
    std::vector<float> first;
    for (const ElementwiseKernels* k : kBoth) {
      std::vector<float> y = x;
      k->rope(y.data(), cos.data(), sin.data(), pairs, half);
      for (int64_t i = 0; i < half; ++i) {
        const double c = i < pairs ? cos[i] : 1, s = i < pairs ? sin[i] : 0;
        const double scale = std::fabs(x[i]) + std::fabs(x[i + half]);
        EXPECT_NEAR(y[i], x[i] * c - x[i + half] * s, 0x1p-23 * scale);
        EXPECT_NEAR(y[i + half], x[i + half] * c + x[i] * s, 0x1p-23 * scale);
        EXPECT_TRUE(i < pairs || (y[i] == x[i] && y[i + half] == x[i + half]));
      }
      if (first.empty()) first = y;
      ExpectSame(first, y);
    }
  }
}

TEST(ElementwiseTest, SoftmaxMatchesF64) {
  for (const int64_t n : kLengths) {
    const std::vector<float> x = RandomFloats(n, 9, 5.0f);
    double sum = 0;
    for (const float v : x) sum += std::exp(double{v} - *std::max_element(x.begin(), x.end()));
    std::vector<float> first;
    for (const ElementwiseKernels* k : kBoth) {
      std::vector<float> y = x;
      k->softmax(y.data(), n);
      for (int64_t i = 0; i < n; ++i) {
        const double expected = std::exp(double{x[i]} - *std::max_element(x.begin(), x.end())) / sum;
        // x - max is rounded once at a magnitude of up to 40: 2^-19 absolute, which exp makes relative.
        EXPECT_NEAR(y[i], expected, 0x1p-18 * expected);
      }
      if (first.empty()) first = y;
      ExpectSame(first, y);
    }
  }
}

TEST(ElementwiseTest, InstructionSetsAgreeOnUnusualValues) {
  const std::vector<float> x = Unusual();
  const int64_t n = static_cast<int64_t>(x.size());
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> gelu(x.size()), cap_portable = x, cap_best = x, gelu_best(x.size());
  Portable().gelu_mul(x.data(), ones.data(), gelu.data(), n);
  Best().gelu_mul(x.data(), ones.data(), gelu_best.data(), n);
  Portable().softcap(cap_portable.data(), n, 1.0f);
  Best().softcap(cap_best.data(), n, 1.0f);
  ExpectSame(gelu, gelu_best);
  ExpectSame(cap_portable, cap_best);
  for (int64_t i = 0; i < n; ++i) {  // and the vector forms equal the scalar ones
    ASSERT_TRUE(SameBits(gelu[i], GeluTanh(x[i]))) << x[i];
    ASSERT_TRUE(SameBits(cap_portable[i], Tanh(x[i]))) << x[i];
    // Softmax of {x, 0}: the smaller of the two shows exp.
    float portable[2] = {-std::fabs(x[i]), 0}, best[2] = {-std::fabs(x[i]), 0};
    Portable().softmax(portable, 2);
    Best().softmax(best, 2);
    ASSERT_TRUE(SameBits(portable[0], best[0]));
    ASSERT_TRUE(SameBits(portable[0], Exp(-std::fabs(x[i])) / (1.0f + Exp(-std::fabs(x[i])))) || std::isnan(x[i]));
  }
}

TEST(ElementwiseTest, NanReachesTheWholeRowOfNorms) {
  for (const ElementwiseKernels* k : kBoth) {
    std::vector<float> x = RandomFloats(20, 10), soft = x;
    x[11] = kNan;
    soft[19] = kNan;
    std::vector<float> y(20);
    k->rms_norm(x.data(), nullptr, y.data(), 20, 1e-6f);
    k->softmax(soft.data(), 20);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(std::isnan(y[i]) && std::isnan(soft[i])) << i;
  }
}

}  // namespace
}  // namespace quern::ops::cpu
