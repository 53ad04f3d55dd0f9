// F32x8: eight floats in an AVX2 register, with the operations that elementwise and attention bodies are written in.
// vector_portable-inl.h is the same in plain C++; a source file includes exactly one of them. Internal linkage
// throughout.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace quern::ops::cpu {
namespace {

using F32x8 = __m256;

inline F32x8 Set(float value) { return _mm256_set1_ps(value); }
inline F32x8 Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, F32x8 v) { _mm256_storeu_ps(p, v); }

inline __m256i LaneMask(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}
// The first `count` (below 8) values, `fill` in the other lanes.
inline F32x8 LoadFirst(const float* p, int64_t count, float fill) {
  const __m256i mask = LaneMask(count);
  return _mm256_blendv_ps(Set(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
}
inline void StoreFirst(float* p, int64_t count, F32x8 v) { _mm256_maskstore_ps(p, LaneMask(count), v); }
inline F32x8 LoadHalf(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline F32x8 LoadBf16(const uint16_t* p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

inline F32x8 Add(F32x8 a, F32x8 b) { return _mm256_add_ps(a, b); }
inline F32x8 Sub(F32x8 a, F32x8 b) { return _mm256_sub_ps(a, b); }
inline F32x8 Mul(F32x8 a, F32x8 b) { return _mm256_mul_ps(a, b); }
inline F32x8 Div(F32x8 a, F32x8 b) { return _mm256_div_ps(a, b); }
inline F32x8 Fma(F32x8 a, F32x8 b, F32x8 c) { return _mm256_fmadd_ps(a, b, c); }
// a > b ? a : b and a < b ? a : b: the second operand when either is NaN.
inline F32x8 Max(F32x8 a, F32x8 b) { return _mm256_max_ps(a, b); }
inline F32x8 Min(F32x8 a, F32x8 b) { return _mm256_min_ps(a, b); }
inline F32x8 Abs(F32x8 v) { return _mm256_andnot_ps(Set(-0.0f), v); }
inline F32x8 CopySign(F32x8 magnitude, F32x8 sign) {
  return _mm256_or_ps(_mm256_andnot_ps(Set(-0.0f), magnitude), _mm256_and_ps(Set(-0.0f), sign));
}
// Per lane: a < b ? yes : no.
inline F32x8 SelectLess(F32x8 a, F32x8 b, F32x8 yes, F32x8 no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

// v * 2^n, where `shifted` is n + 1.5 * 2^23.
inline F32x8 ScaleByPower(F32x8 v, F32x8 shifted, float shift) {
  const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(Set(shift)));
  const __m256i first = _mm256_srai_epi32(n, 1);
  const __m256i second = _mm256_sub_epi32(n, first);
  const __m256i bias = _mm256_set1_epi32(127);
  v = Mul(v, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(first, bias), 23)));
  return Mul(v, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(second, bias), 23)));
}

// Sum of the lanes, combined 4, 2, 1.
inline float SumLanes(F32x8 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

// Lane i is SumLanes(v[i]).
inline F32x8 SumLanesOfEight(const F32x8 (&v)[8]) {
  const auto by4 = [](F32x8 a, F32x8 b) {  // [a | b], four sums each
    return Add(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
  };
  const auto by2 = [](F32x8 a, F32x8 b) { return Add(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xEE)); };
  const F32x8 low = by2(by4(v[0], v[4]), by4(v[1], v[5])), high = by2(by4(v[2], v[6]), by4(v[3], v[7]));
  return Add(_mm256_shuffle_ps(low, high, 0x88), _mm256_shuffle_ps(low, high, 0xDD));
}

// Square root of one float; std::sqrt is an inline function of the library and would leave this file.
inline float SquareRoot(float v) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(v))); }

}  // namespace
}  // namespace quern::ops::cpu
