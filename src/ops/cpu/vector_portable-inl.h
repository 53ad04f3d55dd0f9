// F32x8: eight floats in plain C++, operation for operation what vector_avx2-inl.h does in one register.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace quern::ops::cpu {
namespace {

struct F32x8 {
  float lane[8];
};

template <typename Function>
inline F32x8 Map(const Function& function) {
  F32x8 result;
  for (int i = 0; i < 8; ++i) result.lane[i] = function(i);
  return result;
}

inline F32x8 Set(float value) {
  return Map([&](int) { return value; });
}
inline F32x8 Load(const float* p) {
  return Map([&](int i) { return p[i]; });
}
inline void Store(float* p, F32x8 v) { std::memcpy(p, v.lane, sizeof v.lane); }
inline F32x8 LoadFirst(const float* p, int64_t count, float fill) {
  return Map([&](int i) { return i < count ? p[i] : fill; });
}
inline void StoreFirst(float* p, int64_t count, F32x8 v) {
  std::memcpy(p, v.lane, static_cast<size_t>(count) * sizeof(float));
}
inline F32x8 LoadHalf(const uint16_t* p) {
  return Map([&](int i) { return HalfToFloat(p[i]); });
}
inline F32x8 LoadBf16(const uint16_t* p) {
  return Map([&](int i) { return Bf16ToFloat(p[i]); });
}

inline F32x8 Add(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline F32x8 Sub(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline F32x8 Mul(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline F32x8 Div(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline F32x8 Fma(const F32x8& a, const F32x8& b, const F32x8& c) {
  return Map([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
}
inline F32x8 Max(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline F32x8 Min(const F32x8& a, const F32x8& b) {
  return Map([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline F32x8 Abs(const F32x8& v) {
  return Map([&](int i) { return std::fabs(v.lane[i]); });
}
inline F32x8 CopySign(const F32x8& magnitude, const F32x8& sign) {
  return Map([&](int i) { return std::copysign(magnitude.lane[i], sign.lane[i]); });
}
inline F32x8 SelectLess(const F32x8& a, const F32x8& b, const F32x8& yes, const F32x8& no) {
  return Map([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
}

inline F32x8 ScaleByPower(const F32x8& v, const F32x8& shifted, float shift) {
  return Map([&](int i) {
    const auto n = static_cast<int32_t>(std::bit_cast<uint32_t>(shifted.lane[i]) - std::bit_cast<uint32_t>(shift));
    const int32_t first = n >> 1;
    const uint32_t second = static_cast<uint32_t>(n) - static_cast<uint32_t>(first);
    return v.lane[i] * std::bit_cast<float>((static_cast<uint32_t>(first) + 127u) << 23) *
           std::bit_cast<float>((second + 127u) << 23);
  });
}

inline float SumLanes(const F32x8& v) {
  return ((v.lane[0] + v.lane[4]) + (v.lane[2] + v.lane[6])) + ((v.lane[1] + v.lane[5]) + (v.lane[3] + v.lane[7]));
}
inline F32x8 SumLanesOfEight(const F32x8 (&v)[8]) {
  return Map([&](int i) { return SumLanes(v[i]); });
}

inline float SquareRoot(float v) { return std::sqrt(v); }

}  // namespace
}  // namespace quern::ops::cpu
