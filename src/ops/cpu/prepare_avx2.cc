// Reordering and quantising activations with AVX2; the reference is in matmul_portable.cc.
#include <cstring>

#include "ops/cpu/matmul_kernels.h"
#include "ops/cpu/panel_avx2-inl.h"

namespace quern::ops::cpu {
namespace {

// Block b of a row, zeros beyond num_cols.
inline void LoadBlock(const float* x, int64_t block, int64_t num_cols, __m256 (&out)[4]) {
  const int64_t count = num_cols - block * 32;
  x += block * 32;
  if (count >= 32) {
    for (int v = 0; v < 4; ++v) out[v] = _mm256_loadu_ps(x + 8 * v);
    return;
  }
  alignas(32) float padded[32] = {};
  std::memcpy(padded, x, static_cast<size_t>(count) * sizeof(float));
  for (int v = 0; v < 4; ++v) out[v] = _mm256_load_ps(padded + 8 * v);
}

inline float LargestMagnitude(const __m256 (&values)[4]) {
  // By bits: there NaN is above infinity, which is above every number.
  const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_setzero_si256();
  for (const __m256 v : values) largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v), mask));
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtss_f32(_mm_castsi128_ps(m));
}

// Nearest integer, halves away from zero; NaN gives 0.
inline __m256i RoundAway(__m256 v) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const __m256 truncated = _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m256 rest = _mm256_andnot_ps(sign, _mm256_sub_ps(v, truncated));
  const __m256 unit = _mm256_or_ps(_mm256_and_ps(sign, v), _mm256_set1_ps(1.0f));
  const __m256 step = _mm256_and_ps(unit, _mm256_cmp_ps(rest, _mm256_set1_ps(0.5f), _CMP_GE_OQ));
  const __m256 rounded = _mm256_and_ps(_mm256_add_ps(truncated, step), _mm256_cmp_ps(v, v, _CMP_ORD_Q));
  return _mm256_cvttps_epi32(rounded);
}

inline int SumLanes(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
  return _mm_cvtsi128_si32(s);
}

}  // namespace

void PrepareF32Avx2(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out) {
  const int64_t num_blocks = (num_cols + 31) / 32;
  for (int64_t row = 0; row < num_rows; ++row, x += ldx) {
    for (const int chain : kChainOrder) {
      for (int64_t b = chain; b < num_blocks; b += 8, out += 32) {
        __m256 values[4];
        LoadBlock(x, b, num_cols, values);
        for (int v = 0; v < 4; ++v) _mm256_storeu_ps(out + 8 * v, values[v]);
      }
    }
  }
}

void PrepareQa8Avx2(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q, float* d,
                    int16_t* isum) {
  const int64_t num_blocks = (num_cols + 31) / 32;
  for (int64_t row = 0; row < num_rows; ++row, x += ldx) {
    for (const int chain : kChainOrder) {
      for (int64_t b = chain; b < num_blocks; b += 8, q += 32, isum += 2, ++d) {
        __m256 values[4];
        LoadBlock(x, b, num_cols, values);
        const float scale = LargestMagnitude(values) / 127.0f;
        const __m256 inverse = _mm256_set1_ps(scale >= kQa8SmallestScale ? 1.0f / scale : 0.0f);
        __m256i codes[4];
        for (int v = 0; v < 4; ++v) codes[v] = RoundAway(_mm256_mul_ps(values[v], inverse));
        *d = scale;
        isum[0] = static_cast<int16_t>(SumLanes(_mm256_add_epi32(codes[0], codes[1])));
        isum[1] = static_cast<int16_t>(SumLanes(_mm256_add_epi32(codes[2], codes[3])));
        // The packs work within 128-bit halves; the permutation puts the groups of four back in order.
        const __m256i packed =
            _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]), _mm256_packs_epi32(codes[2], codes[3]));
        const __m256i ordered = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), ordered);
      }
    }
  }
}

}  // namespace quern::ops::cpu
