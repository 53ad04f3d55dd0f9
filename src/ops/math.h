// quern's own exp, tanh and GELU, from multiplications, fused multiply-adds and one division: no library call, so that
// every backend gives the same bits. The vector forms (ops/cpu/vector_math-inl.h) do the same operations in the same
// order.
//
// Worst errors against f64, measured by math_test over floats of every exponent: Exp 1 ulp, Tanh 2 ulp; GeluTanh stays
// within 2^-21 of |x|. NaN gives NaN. Polynomials: Cephes (expf, tanhf).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace quern::ops {

// The numbers of the formulas below, shared with the vector forms.
struct MathConstants {
  static constexpr float kExpMax = 89.0f;    // overflows to infinity
  static constexpr float kExpMin = -104.0f;  // rounds to zero
  static constexpr float kLog2E = 0x1.715476p+0f;
  static constexpr float kRoundingShift = 0x1.8p+23f;  // adding it rounds to an integer, in the low bits of the sum
  static constexpr float kLn2High = 0x1.62e4p-1f;      // n * kLn2High is exact for |n| < 512
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr float kExp[6] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                    4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
  // Below this magnitude 1 - 2 / (1 + e^2x) loses digits to cancellation.
  static constexpr float kTanhSmall = 0.625f;
  static constexpr float kTanhLarge = 9.1f;  // tanh is 1 from here on
  static constexpr float kTanh[5] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f,
                                     -3.33332819422e-1f};
  // gelu_tanh(x) = x / 2 * (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2 / pi) * (x + 0.044715 x^3). The second form
  // has no cancellation for negative x and needs no tanh.
  static constexpr float kGeluLinear = -1.5957691216057308f;  // -2 sqrt(2 / pi)
  static constexpr float kGeluCubic = -0.07135481282553148f;  // the same times 0.044715
};

// e^x = 2^n * e^f with n the nearest integer to x / ln 2. Subnormal results are rounded once.
inline float Exp(float x) {
  using C = MathConstants;
  x = C::kExpMax < x ? C::kExpMax : x;  // written so that NaN passes
  x = C::kExpMin > x ? C::kExpMin : x;
  const float shifted = std::fma(x, C::kLog2E, C::kRoundingShift);
  const float n = shifted - C::kRoundingShift;
  const float f = std::fma(n, -C::kLn2Low, std::fma(n, -C::kLn2High, x));
  float p = C::kExp[0];
  for (int i = 1; i < 6; ++i) p = std::fma(p, f, C::kExp[i]);
  p = std::fma(p, f * f, f) + 1.0f;
  // 2^n in two factors: n reaches from -150 to 128.
  const int32_t exponent =
      static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(C::kRoundingShift));
  const int32_t first = exponent >> 1, second = exponent - first;
  const auto power = [](int32_t k) { return std::bit_cast<float>((static_cast<uint32_t>(k) + 127u) << 23); };
  return p * power(first) * power(second);
}

inline float Tanh(float x) {
  using C = MathConstants;
  const float magnitude = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu);
  float result = 0;
  if (magnitude < C::kTanhSmall) {
    const float square = x * x;
    float p = C::kTanh[0];
    for (int i = 1; i < 5; ++i) p = std::fma(p, square, C::kTanh[i]);
    result = std::fma(p * square, magnitude, magnitude);
  } else {
    const float clamped = C::kTanhLarge < magnitude ? C::kTanhLarge : magnitude;
    result = 1.0f - 2.0f / (1.0f + Exp(2.0f * clamped));
  }
  return std::copysign(result, x);
}

inline float GeluTanh(float x) {
  using C = MathConstants;
  return x / (1.0f + Exp(x * std::fma(x * x, C::kGeluCubic, C::kGeluLinear)));
}

}  // namespace quern::ops
