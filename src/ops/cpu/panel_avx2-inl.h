// Reading packed blocks with AVX2: codes, scales and minima of eight output rows, one row per 32-bit lane.
// Everything has internal linkage: this text is compiled for AVX2 only, and must never be the copy that a linker picks.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "ops/cpu/panel_layout.h"

namespace quern::ops::cpu {
namespace {

template <int kValue>
struct Index {
  static constexpr int value = kValue;
};

// Calls body(Index<0>), ..., body(Index<kCount - 1>): a loop whose counter is a constant.
template <int kCount, typename Body, int kAt = 0>
[[gnu::always_inline]] inline void Unroll(const Body& body) {
  if constexpr (kAt < kCount) {
    body(Index<kAt>{});
    Unroll<kCount, Body, kAt + 1>(body);
  }
}

inline __m256i LoadVector(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

template <int kShift>
inline __m256i ShiftRight16(__m256i v) {
  if constexpr (kShift > 0) return _mm256_srli_epi16(v, kShift);
  if constexpr (kShift < 0) return _mm256_slli_epi16(v, -kShift);
  return v;
}

inline __m256i LookUp(const int8_t (&table)[16], __m256i nibbles) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(half), nibbles);
}

// The bytes of group kGroup as stored codes: unsigned (before the offset), or int8.
template <PanelFormat kFormat, int kGroup>
inline __m256i LoadCodes(const uint8_t* block) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const uint8_t* planes = block + kOffsets.planes;
  if constexpr (kFormat.code_bits == 8) return LoadVector(planes + 32 * kGroup);
  __m256i codes;
  if constexpr (kFormat.code_bits >= 4) {
    constexpr int kVector = kFormat.split_halves ? kGroup % 4 : kGroup / 2;
    constexpr int kIsHigh = kFormat.split_halves ? kGroup / 4 : kGroup % 2;
    codes = _mm256_and_si256(ShiftRight16<4 * kIsHigh>(LoadVector(planes + 32 * kVector)), _mm256_set1_epi8(15));
  } else {
    codes =
        _mm256_and_si256(ShiftRight16<2 * (kGroup % 4)>(LoadVector(planes + 32 * (kGroup / 4))), _mm256_set1_epi8(3));
  }
  const uint8_t* high = block + kOffsets.high_plane;
  if constexpr (kFormat.code_bits == 6) {
    const __m256i bits = ShiftRight16<2 * (kGroup % 4) - 4>(LoadVector(high + 32 * (kGroup / 4)));
    codes = _mm256_or_si256(codes, _mm256_and_si256(bits, _mm256_set1_epi8(0x30)));
  } else if constexpr (kFormat.code_bits == 5 || kFormat.code_bits == 3) {
    constexpr int kTarget = kFormat.code_bits == 5 ? 4 : 2;
    const __m256i bits = ShiftRight16<kGroup - kTarget>(LoadVector(high));
    codes = _mm256_or_si256(codes, _mm256_and_si256(bits, _mm256_set1_epi8(1 << kTarget)));
  }
  if constexpr (kFormat.table == CodeTable::kIq4) codes = LookUp(kIq4Codes, codes);
  if constexpr (kFormat.table == CodeTable::kMxfp4) codes = LookUp(kMxfp4Codes, codes);
  return codes;
}

inline __m256 LoadHalves(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

inline __m128i LoadEightBytes(const uint8_t* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }

// d of the eight rows.
template <PanelFormat kFormat>
inline __m256 LoadScale(const uint8_t* block, const uint8_t* d_head) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  if constexpr (kFormat.scale == ScaleKind::kHalfPerBlock) return LoadHalves(block + kOffsets.scale);
  if constexpr (kFormat.scale == ScaleKind::kHalfPerSuperblock) return LoadHalves(d_head);
  // 2^(e - 128): exponent e - 1, or a subnormal for e = 0 and 1.
  const __m256i e = _mm256_cvtepu8_epi32(LoadEightBytes(block + kOffsets.scale));
  const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
  return _mm256_castsi256_ps(_mm256_blendv_epi8(subnormal, normal, _mm256_cmpgt_epi32(e, _mm256_set1_epi32(1))));
}

// m of the eight rows.
template <PanelFormat kFormat>
inline __m256 LoadMinScale(const uint8_t* block, const uint8_t* dmin_head) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  if constexpr (kFormat.scale == ScaleKind::kHalfPerBlock) return LoadHalves(block + kOffsets.min_scale);
  return _mm256_xor_ps(LoadHalves(dmin_head), _mm256_set1_ps(-0.0f));
}

// s of half kHalf, as int32.
template <PanelFormat kFormat, int kHalf>
inline __m256i LoadSubScale(const uint8_t* block) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const uint8_t* p = block + kOffsets.sub_scales + (kFormat.sub_scales == 2 ? 8 * kHalf : 0);
  if constexpr (kFormat.signed_sub_scales) return _mm256_cvtepi8_epi32(LoadEightBytes(p));
  const __m256i bits = _mm256_cvtepu8_epi32(LoadEightBytes(p));
  return kFormat.min_in_scale ? _mm256_and_si256(bits, _mm256_set1_epi32(15)) : bits;
}

// n of half kHalf, as int32.
template <PanelFormat kFormat, int kHalf>
inline __m256i LoadMin(const uint8_t* block) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  if constexpr (kFormat.min_in_scale) {
    return _mm256_srli_epi32(_mm256_cvtepu8_epi32(LoadEightBytes(block + kOffsets.sub_scales + 8 * kHalf)), 4);
  }
  if constexpr (kFormat.min_codes == 0) return _mm256_set1_epi32(1);
  return _mm256_cvtepu8_epi32(LoadEightBytes(block + kOffsets.mins + (kFormat.min_codes == 2 ? 8 * kHalf : 0)));
}

// Positions at which the chains of a panel end, in the order in which they lie.
struct ChainEnds {
  int64_t end[8];
  explicit ChainEnds(int64_t num_blocks) {
    int64_t at = 0;
    for (int chain = 0; chain < 8; ++chain) end[chain] = at += (num_blocks - kChainOrder[chain] + 7) / 8;
  }
};

// The eight output rows of one token: the open chain, and finished chains that wait for their partner in the tree.
struct alignas(32) RowSums {
  float acc[8];
  float finished[3][8];
};

inline void ResetSums(RowSums& sums) {
  _mm256_store_ps(sums.acc, _mm256_setzero_ps());
  _mm256_store_ps(sums.finished[0], _mm256_setzero_ps());
}

// Closes the chain_number-th chain with sum `acc`: as many merges as the tree closes there.
inline void CloseChain(RowSums& sums, int chain_number, __m256 acc) {
  int waiting = __builtin_popcount(static_cast<unsigned>(chain_number));
  for (unsigned k = static_cast<unsigned>(chain_number) + 1; (k & 1) == 0; k >>= 1) {
    acc = _mm256_add_ps(_mm256_load_ps(sums.finished[--waiting]), acc);
  }
  _mm256_store_ps(sums.finished[waiting], acc);
}

// y[0 .. count), count in 1 .. 8.
inline void StoreRows(float* y, int64_t count, __m256 values) {
  if (count >= 8) {
    _mm256_storeu_ps(y, values);
    return;
  }
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_ps(y, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes), values);
}

inline int64_t SmallerOf(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace
}  // namespace quern::ops::cpu
