// Class dot-f with AVX2: eight output rows in the lanes, activations broadcast.
//
// Plain floats take two panels and up to four tokens per pass: eight independent fma chains hide the latency, and each
// broadcast serves two panels. Quantised formats make their integer codes into floats on the way; they run only under
// Numerics::kExact.
#include "ops/cpu/matmul_kernels.h"
#include "ops/cpu/panel_avx2-inl.h"

namespace quern::ops::cpu {
namespace {

constexpr int kTokens = 4;
constexpr int64_t kTileBytes = 256 << 10;  // activations of a tile stay in the second-level cache
constexpr int kPrefetchBytes = 2048;

// Value kElem of a block of plain floats, for eight rows.
template <DType kType, int kElem>
inline __m256 LoadFloats(const uint8_t* block) {
  if constexpr (kType == DType::kF32) return _mm256_loadu_ps(reinterpret_cast<const float*>(block + 32 * kElem));
  if constexpr (kType == DType::kF16) return LoadHalves(block + 16 * kElem);
  const __m256i pairs = LoadVector(block + 32 * (kElem / 2));
  if constexpr (kElem % 2 == 0) return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xFFFF0000u))));
}

// Adds block `position` of kPanels panels times kCount tokens to the open chains.
template <DType kType, int kPanels, int kCount>
[[gnu::always_inline]] inline void AddFloatBlock(const uint8_t* const (&block)[kPanels], const float* x, int64_t stride,
                                                 RowSums (&sums)[kPanels][kCount]) {
  // One opaque pointer per token: otherwise g++ keeps the address of every single activation in a stack slot.
  const float* row[kCount];
  for (int t = 0; t < kCount; ++t) {
    row[t] = x + t * stride;
    __asm__("" : "+r"(row[t]));
  }
  __m256 partial[4][kPanels][kCount];
  Unroll<4>([&](auto j) {
    for (int p = 0; p < kPanels; ++p) {
      for (int t = 0; t < kCount; ++t) partial[j.value][p][t] = _mm256_setzero_ps();
    }
    Unroll<8>([&](auto k) {
      constexpr int kElem = 8 * j.value + k.value;
      __m256 weights[kPanels];
      for (int p = 0; p < kPanels; ++p) weights[p] = LoadFloats<kType, kElem>(block[p]);
      for (int t = 0; t < kCount; ++t) {
        const __m256 value = _mm256_broadcast_ss(row[t] + kElem);
        for (int p = 0; p < kPanels; ++p) {
          partial[j.value][p][t] = _mm256_fmadd_ps(weights[p], value, partial[j.value][p][t]);
        }
      }
    });
    if constexpr (j.value == 1 || j.value == 3) {
      for (int p = 0; p < kPanels; ++p) {
        for (int t = 0; t < kCount; ++t) {
          partial[j.value - 1][p][t] = _mm256_add_ps(partial[j.value - 1][p][t], partial[j.value][p][t]);
        }
      }
    }
  });
  for (int p = 0; p < kPanels; ++p) {
    for (int t = 0; t < kCount; ++t) {
      const __m256 sum = _mm256_add_ps(partial[0][p][t], partial[2][p][t]);
      _mm256_store_ps(sums[p][t].acc, _mm256_add_ps(_mm256_load_ps(sums[p][t].acc), sum));
    }
  }
}

// Sum of 16 activations in every lane: lane l holds x[l] + x[l + 8], lanes combine 4, 2, 1.
inline __m256 HalfSum(const float* x) {
  const __m256 lanes = _mm256_add_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8));
  __m128 v = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  v = _mm_add_ps(v, _mm_movehl_ps(v, v));
  v = _mm_add_ss(v, _mm_movehdup_ps(v));
  return _mm256_broadcastss_ps(v);
}

// Adds one quantised block of one panel times kCount tokens.
template <PanelFormat kFormat, int kCount>
inline void AddCodeBlock(const uint8_t* block, const uint8_t* d_head, const uint8_t* dmin_head, const float* x,
                         int64_t stride, RowSums (&sums)[kCount]) {
  __m256 partial[4][kCount];
  Unroll<4>([&](auto j) {
    for (int t = 0; t < kCount; ++t) partial[j.value][t] = _mm256_setzero_ps();
    Unroll<2>([&](auto part) {
      constexpr int kGroup = kFormat.split_halves ? j.value + 4 * part.value : 2 * j.value + part.value;
      const __m256i codes = LoadCodes<kFormat, kGroup>(block);
      Unroll<4>([&](auto i) {
        __m256i code;
        if constexpr (kFormat.is_signed) {
          code = _mm256_srai_epi32(_mm256_slli_epi32(codes, 24 - 8 * i.value), 24);
        } else {
          code = _mm256_and_si256(_mm256_srli_epi32(codes, 8 * i.value), _mm256_set1_epi32(255));
          if constexpr (kFormat.offset != 0) code = _mm256_sub_epi32(code, _mm256_set1_epi32(kFormat.offset));
        }
        __m256 weight = _mm256_cvtepi32_ps(code);
        if constexpr (kFormat.sub_scales != 0) {  // both are small integers: the product is exact
          weight = _mm256_mul_ps(weight, _mm256_cvtepi32_ps(LoadSubScale<kFormat, kGroup / 4>(block)));
        }
        for (int t = 0; t < kCount; ++t) {
          const __m256 value = _mm256_broadcast_ss(x + t * stride + 4 * kGroup + i.value);
          partial[j.value][t] = _mm256_fmadd_ps(weight, value, partial[j.value][t]);
        }
      });
    });
  });
  const __m256 scale = LoadScale<kFormat>(block, d_head);
  for (int t = 0; t < kCount; ++t) {
    const __m256 sum =
        _mm256_add_ps(_mm256_add_ps(partial[0][t], partial[1][t]), _mm256_add_ps(partial[2][t], partial[3][t]));
    __m256 acc = _mm256_fmadd_ps(sum, scale, _mm256_load_ps(sums[t].acc));
    if constexpr (kFormat.has_min) {
      const float* values = x + t * stride;
      const __m256 first = _mm256_mul_ps(_mm256_cvtepi32_ps(LoadMin<kFormat, 0>(block)), HalfSum(values));
      const __m256 mins = _mm256_fmadd_ps(_mm256_cvtepi32_ps(LoadMin<kFormat, 1>(block)), HalfSum(values + 16), first);
      acc = _mm256_fmadd_ps(mins, LoadMinScale<kFormat>(block, dmin_head), acc);
    }
    _mm256_store_ps(sums[t].acc, acc);
  }
}

// kPanels panels from `panel` on, times kCount tokens.
template <DType kType, int kPanels, int kCount>
void MultiplyTile(const PackedMatrix& weight, const ChainEnds& chains, int64_t panel, const float* x, float* y,
                  int64_t ldy) {
  constexpr PanelFormat kFormat = FormatOf(kType);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const int64_t num_superblocks = kOffsets.superblock_bytes == 0 ? 0 : weight.num_blocks / 8;
  const int64_t stride = weight.num_blocks * 32;
  RowSums sums[kPanels][kCount];
  const uint8_t* heads[kPanels];
  const uint8_t* block[kPanels];
  for (int p = 0; p < kPanels; ++p) {
    heads[p] = reinterpret_cast<const uint8_t*>(weight.data.data()) + (panel + p) * weight.panel_bytes;
    block[p] = heads[p] + num_superblocks * kOffsets.superblock_bytes;
    for (int t = 0; t < kCount; ++t) ResetSums(sums[p][t]);
  }
  int64_t position = 0;
  for (int chain = 0; chain < 8; ++chain) {
    for (int64_t index = 0; position < chains.end[chain]; ++position, ++index) {
      for (int p = 0; p < kPanels; ++p) {
        for (int at = 0; at < kOffsets.block_bytes; at += 64) {
          _mm_prefetch(reinterpret_cast<const char*>(block[p] + kPrefetchBytes + at), _MM_HINT_T0);
        }
      }
      if constexpr (kFormat.float_bytes != 0) {
        AddFloatBlock<kType, kPanels, kCount>(block, x + position * 32, stride, sums);
      } else {
        // Block i of every chain lies in superblock i.
        AddCodeBlock<kFormat, kCount>(block[0], heads[0] + 16 * index, heads[0] + 16 * (num_superblocks + index),
                                      x + position * 32, stride, sums[0]);
      }
      for (int p = 0; p < kPanels; ++p) block[p] += kOffsets.block_bytes;
    }
    for (int p = 0; p < kPanels; ++p) {
      for (int t = 0; t < kCount; ++t) {
        CloseChain(sums[p][t], chain, _mm256_load_ps(sums[p][t].acc));
        _mm256_store_ps(sums[p][t].acc, _mm256_setzero_ps());
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    const int64_t n = 8 * (panel + p);
    for (int t = 0; t < kCount; ++t) {
      StoreRows(y + t * ldy + n, SmallerOf(8, weight.num_rows - n), _mm256_load_ps(sums[p][t].finished[0]));
    }
  }
}

template <DType kType, int kPanels>
void MultiplyTokens(const PackedMatrix& weight, const ChainEnds& chains, int64_t panel, const float* x, int64_t tokens,
                    float* y, int64_t ldy) {
  const int64_t stride = weight.num_blocks * 32;
  for (int64_t t = 0; t < tokens; t += kTokens) {
    const float* row = x + t * stride;
    float* out = y + t * ldy;
    switch (SmallerOf(kTokens, tokens - t)) {
      case 1:
        MultiplyTile<kType, kPanels, 1>(weight, chains, panel, row, out, ldy);
        break;
      case 2:
        MultiplyTile<kType, kPanels, 2>(weight, chains, panel, row, out, ldy);
        break;
      case 3:
        MultiplyTile<kType, kPanels, 3>(weight, chains, panel, row, out, ldy);
        break;
      default:
        MultiplyTile<kType, kPanels, 4>(weight, chains, panel, row, out, ldy);
        break;
    }
  }
}

template <DType kType>
void Run(const PackedMatrix& weight, const Activations& x, int64_t panel_begin, int64_t panel_end, float* y,
         int64_t ldy) {
  constexpr int kPanels = FormatOf(kType).float_bytes != 0 ? 2 : 1;
  const ChainEnds chains(weight.num_blocks);
  const int64_t stride = weight.num_blocks * 32;
  int64_t tile = kTileBytes / (4 * stride + 1) / kTokens * kTokens;
  if (tile < 4 * kTokens) tile = 4 * kTokens;
  for (int64_t first = 0; first < x.num_rows; first += tile) {
    const int64_t tokens = SmallerOf(tile, x.num_rows - first);
    const float* rows = x.f32 + first * stride;
    float* out = y + first * ldy;
    int64_t panel = panel_begin;
    for (; panel + kPanels <= panel_end; panel += kPanels) {
      MultiplyTokens<kType, kPanels>(weight, chains, panel, rows, tokens, out, ldy);
    }
    for (; panel < panel_end; ++panel) MultiplyTokens<kType, 1>(weight, chains, panel, rows, tokens, out, ldy);
  }
}

}  // namespace

MatmulFn DotFloatAvx2(DType dtype) {
  return SelectByDType(dtype, [](auto type) -> MatmulFn { return Run<type()>; });
}

}  // namespace quern::ops::cpu
