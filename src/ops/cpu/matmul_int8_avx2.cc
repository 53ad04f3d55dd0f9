// Class dot-i8 with AVX2: eight output rows in the lanes, up to four tokens per pass.
//
// vpmaddubsw multiplies unsigned weight codes with signed activations and adds pairs into int16; as many of its results
// as cannot overflow are added there, then vpmaddwd widens them and applies the sub-scale in the same instruction.
// Offsets and minima come from the sums of the activation codes, again one vpmaddwd. All of it is exact, so only the
// order of the scaled f32 accumulation matters, and that is the contract's: chain after chain, one accumulator per
// output.
//
// Up to four tokens read the packed panel directly: the product is bound by memory, or nearly so. With more, codes and
// scales of a stretch of blocks are unpacked into the first-level cache once and serve a tile of tokens. (Reading
// packed codes again for 5 to 12 tokens gained 5 % at most.)
#include <cstring>

#include "ops/cpu/matmul_kernels.h"
#include "ops/cpu/panel_avx2-inl.h"

namespace quern::ops::cpu {
namespace {

constexpr int kTokens = 4;                 // per pass
constexpr int kTokenTile = 64;             // tokens that share an unpacked stretch
constexpr int kStretchBlocks = 48;         // blocks of a stretch: about 14 KiB unpacked
constexpr int64_t kTileBytes = 320 << 10;  // activations of a tile stay in the second-level cache
constexpr int kPrefetchBytes = 2048;  // measured on Zen 3: 11.4 GB/s without, 15.2 at 1,024, 17.2 at 2,048, 15 at 4,096

// How many vpmaddubsw results fit into int16 together: codes below 2^bits, activations within +-127.
constexpr int GroupsPerSum(PanelFormat f) {
  if (f.is_signed) return 1;                   // 2 * 128 * 127
  if (f.table == CodeTable::kMxfp4) return 4;  // 4 * 2 * 24 * 127
  return f.code_bits == 6   ? 2
         : f.code_bits == 4 ? 8
                            : 4;  // at most 4 * 2 * 31 * 127; never across halves with own scales
}

inline int32_t LoadInt(const void* p) {
  int32_t value;
  std::memcpy(&value, p, 4);
  return value;
}

// Makes the compiler compute v here. Left alone, g++ delays the cheap additions of a block until all of its products
// exist and spills most of them: that costs more than half of the speed.
inline __m256i Settled(__m256i v) {
  __asm__("" : "+x"(v));
  return v;
}

// Two int16 per lane: (low, high) of the given int32 vectors.
inline __m256i PackPairs(__m256i low, __m256i high) {
  return _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xAA);
}

// Codes and scales as they come from the packed panel.
template <PanelFormat kFormat>
struct PackedSource {
  static constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const uint8_t* block;
  const uint8_t* d_head;
  const uint8_t* dmin_head;

  template <int kGroup>
  __m256i Codes() const {
    return LoadCodes<kFormat, kGroup>(block);
  }
  __m256 Scale() const { return LoadScale<kFormat>(block, d_head); }
  __m256 MinScale() const { return LoadMinScale<kFormat>(block, dmin_head); }
  // The sub-scale of a half, twice per lane.
  template <int kHalf>
  __m256i SubScale() const {
    if constexpr (kFormat.sub_scales == 0) return _mm256_set1_epi16(1);
    const __m256i scale = LoadSubScale<kFormat, kHalf>(block);
    return PackPairs(scale, scale);
  }
  // -offset times the sub-scales of both halves.
  __m256i Offsets() const {
    const __m256i offset = _mm256_set1_epi16(-kFormat.offset);
    if constexpr (kFormat.sub_scales == 0) return offset;
    return _mm256_mullo_epi16(PackPairs(LoadSubScale<kFormat, 0>(block), LoadSubScale<kFormat, 1>(block)), offset);
  }
  __m256i Mins() const { return PackPairs(LoadMin<kFormat, 0>(block), LoadMin<kFormat, 1>(block)); }
};

// The same, unpacked: vectors in the order codes [8], d, then those of s [2], offsets, n, m that the format has.
template <PanelFormat kFormat>
struct UnpackedSource {
  static constexpr int kScale = 8 * 32;
  static constexpr int kSubScales = kScale + 32;
  static constexpr int kOffsetPairs = kSubScales + 32 * kFormat.sub_scales;
  static constexpr int kMins = kOffsetPairs + (kFormat.offset != 0 && kFormat.sub_scales != 0 ? 32 : 0);
  static constexpr int kMinScale = kMins + (kFormat.min_codes != 0 ? 32 : 0);
  static constexpr int kBytes = kMinScale + (kFormat.has_min ? 32 : 0);
  const uint8_t* block;

  static void Store(uint8_t* p, __m256i v) { _mm256_store_si256(reinterpret_cast<__m256i*>(p), v); }
  static __m256i Load(const uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(p)); }

  static void Unpack(const PackedSource<kFormat>& packed, uint8_t* out) {
    Unroll<8>([&](auto g) { Store(out + 32 * g.value, packed.template Codes<g.value>()); });
    Store(out + kScale, _mm256_castps_si256(packed.Scale()));
    if constexpr (kFormat.sub_scales >= 1) Store(out + kSubScales, packed.template SubScale<0>());
    if constexpr (kFormat.sub_scales == 2) Store(out + kSubScales + 32, packed.template SubScale<1>());
    if constexpr (kOffsetPairs != kMins) Store(out + kOffsetPairs, packed.Offsets());
    if constexpr (kFormat.min_codes != 0) Store(out + kMins, packed.Mins());
    if constexpr (kFormat.has_min) Store(out + kMinScale, _mm256_castps_si256(packed.MinScale()));
  }

  template <int kGroup>
  __m256i Codes() const {
    return Load(block + 32 * kGroup);
  }
  __m256 Scale() const { return _mm256_castsi256_ps(Load(block + kScale)); }
  __m256 MinScale() const { return _mm256_castsi256_ps(Load(block + kMinScale)); }
  template <int kHalf>
  __m256i SubScale() const {
    if constexpr (kFormat.sub_scales == 0) return _mm256_set1_epi16(1);
    return Load(block + kSubScales + (kFormat.sub_scales == 2 ? 32 * kHalf : 0));
  }
  __m256i Offsets() const {
    return kFormat.sub_scales == 0 ? _mm256_set1_epi16(-kFormat.offset) : Load(block + kOffsetPairs);
  }
  __m256i Mins() const { return kFormat.min_codes == 0 ? _mm256_set1_epi16(1) : Load(block + kMins); }
};

// Activations of kCount consecutive tokens.
struct TokenRows {
  const int8_t* q;
  const float* d;
  const int16_t* isum;
  int64_t num_blocks;  // stride
};

// acc[t] += block (at `position`) * token t, as the contract's one or two fma.
template <PanelFormat kFormat, int kCount, typename Source>
[[gnu::always_inline]] inline void AddBlock(const Source& source, const TokenRows& x, int64_t position,
                                            __m256 (&acc)[kCount]) {
  constexpr int kPerSum = GroupsPerSum(kFormat);
  const int8_t* q = x.q + position * 32;
  const int64_t stride = x.num_blocks * 32;
  __m256i sum[kCount];
  Unroll<8 / kPerSum>([&](auto batch) {
    __m256i part[kCount];
    Unroll<kPerSum>([&](auto step) {
      constexpr int kSlot = batch.value * kPerSum + step.value;
      // Both groups of one nibble vector follow each other.
      constexpr int kGroup = kFormat.split_halves && kFormat.code_bits < 8 ? kSlot / 2 + 4 * (kSlot % 2) : kSlot;
      const __m256i codes = source.template Codes<kGroup>();
      const __m256i magnitude = kFormat.is_signed ? _mm256_abs_epi8(codes) : codes;
      Unroll<kCount>([&](auto t) {
        __m256i a = _mm256_set1_epi32(LoadInt(q + t.value * stride + 4 * kGroup));
        if constexpr (kFormat.is_signed) a = _mm256_sign_epi8(a, codes);
        const __m256i products = _mm256_maddubs_epi16(magnitude, a);
        part[t.value] = Settled(step.value == 0 ? products : _mm256_add_epi16(part[t.value], products));
      });
    });
    constexpr int kHalf = batch.value * kPerSum >= 4 ? 1 : 0;
    const __m256i scale = source.template SubScale<kHalf>();
    Unroll<kCount>([&](auto t) {
      const __m256i scaled = _mm256_madd_epi16(part[t.value], scale);
      sum[t.value] = Settled(batch.value == 0 ? scaled : _mm256_add_epi32(sum[t.value], scaled));
    });
  });
  const __m256 scale = source.Scale();
  Unroll<kCount>([&](auto token) {
    constexpr int t = token.value;
    const int64_t at = t * x.num_blocks + position;
    const __m256 d = _mm256_broadcast_ss(x.d + at);
    const __m256i pair = _mm256_set1_epi32(LoadInt(x.isum + 2 * at));  // the activation sums of both halves
    if constexpr (kFormat.offset != 0) sum[t] = _mm256_add_epi32(sum[t], _mm256_madd_epi16(pair, source.Offsets()));
    acc[t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), _mm256_mul_ps(scale, d), acc[t]);
    if constexpr (kFormat.has_min) {
      const __m256 mins = _mm256_cvtepi32_ps(_mm256_madd_epi16(pair, source.Mins()));
      acc[t] = _mm256_fmadd_ps(mins, _mm256_mul_ps(source.MinScale(), d), acc[t]);
    }
  });
}

// A panel and how to find a block's parts in it.
template <PanelFormat kFormat>
struct Panel {
  static constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const uint8_t* data;
  int64_t num_superblocks;

  Panel(const PackedMatrix& weight, int64_t index)
      : data(reinterpret_cast<const uint8_t*>(weight.data.data()) + index * weight.panel_bytes),
        num_superblocks(kOffsets.superblock_bytes == 0 ? 0 : weight.num_blocks / 8) {}

  // Block i of every chain lies in superblock i.
  PackedSource<kFormat> Block(int64_t position, int64_t index_in_chain) const {
    return {data + num_superblocks * kOffsets.superblock_bytes + position * kOffsets.block_bytes,
            data + 16 * index_in_chain, data + 16 * (num_superblocks + index_in_chain)};
  }
};

// Calls add(position, index_in_chain, acc) for the blocks of [begin, end), closing chains as they end.
template <int kCount, typename Add>
[[gnu::always_inline]] inline void WalkChains(const ChainEnds& chains, int64_t begin, int64_t end, RowSums* sums,
                                              const Add& add) {
  int chain = 0;
  while (chains.end[chain] <= begin) ++chain;  // closed before, or empty
  __m256 acc[kCount];
  Unroll<kCount>([&](auto t) { acc[t.value] = _mm256_load_ps(sums[t.value].acc); });
  for (int64_t position = begin; position < end;) {
    const int64_t chain_begin = chain == 0 ? 0 : chains.end[chain - 1];
    const int64_t stop = SmallerOf(end, chains.end[chain]);
    for (; position < stop; ++position) add(position, position - chain_begin, acc);
    while (chain < 8 && position == chains.end[chain]) {
      Unroll<kCount>([&](auto t) {
        CloseChain(sums[t.value], chain, acc[t.value]);
        acc[t.value] = _mm256_setzero_ps();
      });
      ++chain;
    }
  }
  Unroll<kCount>([&](auto t) { _mm256_store_ps(sums[t.value].acc, acc[t.value]); });
}

template <PanelFormat kFormat>
inline void Prefetch(const uint8_t* block) {
  constexpr int kBlockBytes = OffsetsOf(kFormat).block_bytes;
  for (int at = 0; at < kBlockBytes; at += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(block + kPrefetchBytes + at), _MM_HINT_T0);
  }
}

template <PanelFormat kFormat, int kCount>
[[gnu::flatten]] void FewTokens(const PackedMatrix& weight, const Activations& x, int64_t panel_begin,
                                int64_t panel_end, float* y, int64_t ldy) {
  const ChainEnds chains(x.num_blocks);
  const TokenRows rows = {x.q, x.d, x.isum, x.num_blocks};
  for (int64_t p = panel_begin; p < panel_end; ++p) {
    const Panel<kFormat> panel(weight, p);
    RowSums sums[kCount];
    for (RowSums& s : sums) ResetSums(s);
    WalkChains<kCount>(chains, 0, x.num_blocks, sums, [&](int64_t position, int64_t index, __m256(&acc)[kCount]) {
      const PackedSource<kFormat> source = panel.Block(position, index);
      Prefetch<kFormat>(source.block);
      AddBlock<kFormat, kCount>(source, rows, position, acc);
    });
    const int64_t count = SmallerOf(8, weight.num_rows - 8 * p);
    for (int t = 0; t < kCount; ++t) StoreRows(y + t * ldy + 8 * p, count, _mm256_load_ps(sums[t].finished[0]));
  }
}

// Multiplies the unpacked stretch [begin, end) with kCount tokens.
template <PanelFormat kFormat, int kCount>
[[gnu::noinline, gnu::flatten]] void AddStretch(const uint8_t* unpacked, const ChainEnds& chains, int64_t begin,
                                                int64_t end, const TokenRows& rows, RowSums* sums) {
  constexpr int kBytes = UnpackedSource<kFormat>::kBytes;
  WalkChains<kCount>(chains, begin, end, sums, [&](int64_t position, int64_t, __m256(&acc)[kCount]) {
    AddBlock<kFormat, kCount>(UnpackedSource<kFormat>{unpacked + (position - begin) * kBytes}, rows, position, acc);
  });
}

template <PanelFormat kFormat>
void UnpackStretch(const Panel<kFormat>& panel, const ChainEnds& chains, int64_t begin, int64_t end, uint8_t* out) {
  int chain = 0;
  for (int64_t position = begin; position < end; ++position, out += UnpackedSource<kFormat>::kBytes) {
    while (chains.end[chain] <= position) ++chain;
    const int64_t chain_begin = chain == 0 ? 0 : chains.end[chain - 1];
    const PackedSource<kFormat> source = panel.Block(position, position - chain_begin);
    Prefetch<kFormat>(source.block);
    UnpackedSource<kFormat>::Unpack(source, out);
  }
}

template <PanelFormat kFormat>
void ManyTokens(const PackedMatrix& weight, const Activations& x, int64_t panel_begin, int64_t panel_end, float* y,
                int64_t ldy) {
  const ChainEnds chains(x.num_blocks);
  const int64_t token_bytes = x.num_blocks * 40;
  int64_t tile = SmallerOf(kTokenTile, kTileBytes / token_bytes / kTokens * kTokens);
  if (tile < 4 * kTokens) tile = 4 * kTokens;
  alignas(64) uint8_t unpacked[kStretchBlocks * UnpackedSource<kFormat>::kBytes];
  RowSums sums[kTokenTile];
  for (int64_t first = 0; first < x.num_rows; first += tile) {
    const int64_t tokens = SmallerOf(tile, x.num_rows - first);
    for (int64_t p = panel_begin; p < panel_end; ++p) {
      const Panel<kFormat> panel(weight, p);
      for (int64_t t = 0; t < tokens; ++t) ResetSums(sums[t]);
      for (int64_t begin = 0; begin < x.num_blocks; begin += kStretchBlocks) {
        const int64_t end = SmallerOf(begin + kStretchBlocks, x.num_blocks);
        UnpackStretch<kFormat>(panel, chains, begin, end, unpacked);
        for (int64_t t = 0; t < tokens; t += kTokens) {
          const int64_t at = (first + t) * x.num_blocks;
          const TokenRows rows = {x.q + 32 * at, x.d + at, x.isum + 2 * at, x.num_blocks};
          switch (SmallerOf(kTokens, tokens - t)) {
            case 1:
              AddStretch<kFormat, 1>(unpacked, chains, begin, end, rows, sums + t);
              break;
            case 2:
              AddStretch<kFormat, 2>(unpacked, chains, begin, end, rows, sums + t);
              break;
            case 3:
              AddStretch<kFormat, 3>(unpacked, chains, begin, end, rows, sums + t);
              break;
            default:
              AddStretch<kFormat, 4>(unpacked, chains, begin, end, rows, sums + t);
              break;
          }
        }
      }
      const int64_t count = SmallerOf(8, weight.num_rows - 8 * p);
      for (int64_t t = 0; t < tokens; ++t) {
        StoreRows(y + (first + t) * ldy + 8 * p, count, _mm256_load_ps(sums[t].finished[0]));
      }
    }
  }
}

template <DType kType>
void Run(const PackedMatrix& weight, const Activations& x, int64_t panel_begin, int64_t panel_end, float* y,
         int64_t ldy) {
  constexpr PanelFormat kFormat = FormatOf(kType);
  switch (x.num_rows) {
    case 0:
      return;
    case 1:
      return FewTokens<kFormat, 1>(weight, x, panel_begin, panel_end, y, ldy);
    case 2:
      return FewTokens<kFormat, 2>(weight, x, panel_begin, panel_end, y, ldy);
    case 3:
      return FewTokens<kFormat, 3>(weight, x, panel_begin, panel_end, y, ldy);
    case 4:
      return FewTokens<kFormat, 4>(weight, x, panel_begin, panel_end, y, ldy);
    default:
      return ManyTokens<kFormat>(weight, x, panel_begin, panel_end, y, ldy);
  }
}

}  // namespace

MatmulFn DotInt8Avx2(DType dtype) {
  return SelectByDType(dtype, [](auto type) -> MatmulFn {
    if constexpr (FormatOf(type()).float_bytes == 0) return Run<type()>;
    return nullptr;
  });
}

}  // namespace quern::ops::cpu
