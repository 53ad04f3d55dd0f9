// The products in plain C++: the reference that every other instruction set must equal bit for bit. One output row at a
// time, decoded block by block, for up to kTokenTile activation rows.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ops/cpu/matmul_kernels.h"
#include "ops/cpu/panel_layout.h"
#include "tensor/half.h"

namespace quern::ops::cpu {
namespace {

constexpr int kTokenTile = 16;

// One block of one output row in the form of panel_layout.h.
struct BlockCodes {
  int codes[32];        // after sub-scales: the integer codes c
  int min_codes[2];     // n
  float scale = 0;      // d
  float min_scale = 0;  // m
};

uint8_t Byte(const std::byte* p) { return static_cast<uint8_t>(*p); }

float Half(const std::byte* p) {
  uint16_t bits = 0;
  std::memcpy(&bits, p, 2);
  return HalfToFloat(bits);
}

// 2^(e - 128); the two smallest are subnormal.
float E8m0Half(uint8_t e) {
  return std::bit_cast<float>(e >= 2 ? static_cast<uint32_t>(e - 1) << 23 : 0x00200000u << e);
}

template <PanelFormat kFormat>
int UnsignedCode(const std::byte* block, int row, int e) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const std::byte* planes = block + kOffsets.planes + 4 * row + e % 4;
  const std::byte* high = block + kOffsets.high_plane + 4 * row + e % 4;
  const int group = e / 4;
  if constexpr (kFormat.code_bits == 8) return Byte(planes + 32 * group);
  int code = 0;
  if constexpr (kFormat.code_bits >= 4) {
    const int vector = kFormat.split_halves ? group % 4 : group / 2;
    const int is_high = kFormat.split_halves ? group / 4 : group % 2;
    code = (Byte(planes + 32 * vector) >> (4 * is_high)) & 15;
  } else {
    code = (Byte(planes + 32 * (group / 4)) >> (2 * (group % 4))) & 3;
  }
  if constexpr (kFormat.code_bits == 6) code |= ((Byte(high + 32 * (group / 4)) >> (2 * (group % 4))) & 3) << 4;
  if constexpr (kFormat.code_bits == 5) code |= ((Byte(high) >> group) & 1) << 4;
  if constexpr (kFormat.code_bits == 3) code |= ((Byte(high) >> group) & 1) << 2;
  return code;
}

template <PanelFormat kFormat>
int Code(const std::byte* block, int row, int e) {
  const int code = UnsignedCode<kFormat>(block, row, e);
  if constexpr (kFormat.table == CodeTable::kIq4) return kIq4Codes[code];
  if constexpr (kFormat.table == CodeTable::kMxfp4) return kMxfp4Codes[code] - kFormat.offset;
  if constexpr (kFormat.is_signed) return static_cast<int8_t>(code);
  return code - kFormat.offset;
}

// heads: this superblock's d [8] and dmin [8] in the panel's head.
template <PanelFormat kFormat>
void DecodeBlock(const std::byte* block, const std::byte* d_head, const std::byte* dmin_head, int row,
                 BlockCodes& out) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  for (int e = 0; e < 32; ++e) out.codes[e] = Code<kFormat>(block, row, e);
  out.min_codes[0] = out.min_codes[1] = 1;
  for (int h = 0; h < 2 && kFormat.sub_scales > 0; ++h) {
    const uint8_t bits = Byte(block + kOffsets.sub_scales + (kFormat.sub_scales == 2 ? 8 * h : 0) + row);
    const int scale = kFormat.signed_sub_scales ? static_cast<int8_t>(bits) : kFormat.min_in_scale ? bits & 15 : bits;
    for (int e = 16 * h; e < 16 * h + 16; ++e) out.codes[e] *= scale;
    if constexpr (kFormat.min_in_scale) out.min_codes[h] = bits >> 4;
  }
  if constexpr (kFormat.min_codes == 1) out.min_codes[0] = out.min_codes[1] = Byte(block + kOffsets.mins + row);
  if constexpr (kFormat.scale == ScaleKind::kHalfPerBlock) {
    out.scale = Half(block + kOffsets.scale + 2 * row);
    if constexpr (kFormat.has_min) out.min_scale = Half(block + kOffsets.min_scale + 2 * row);
  } else if constexpr (kFormat.scale == ScaleKind::kE8m0PerBlock) {
    out.scale = E8m0Half(Byte(block + kOffsets.scale + row));
  } else {
    out.scale = Half(d_head + 2 * row);
    if constexpr (kFormat.has_min) out.min_scale = -Half(dmin_head + 2 * row);
  }
}

template <DType kType>
void DecodeFloats(const std::byte* block, int row, float (&out)[32]) {
  for (int e = 0; e < 32; ++e) {
    if constexpr (FormatOf(kType).float_bytes == 4) {
      std::memcpy(&out[e], block + 4 * (kPanelRows * e + row), 4);
    } else {
      uint16_t bits = 0;
      const bool paired = kType == DType::kBF16;
      std::memcpy(&bits, block + (paired ? 4 * (kPanelRows * (e / 2) + row) + 2 * (e % 2) : 2 * (kPanelRows * e + row)),
                  2);
      out[e] = paired ? Bf16ToFloat(bits) : HalfToFloat(bits);
    }
  }
}

// Four partial sums of eight values each, in the order that the contract fixes.
template <bool kSplitHalves, typename CodeType>
float DotBlock(const CodeType (&codes)[32], const float* x) {
  float partial[4] = {};
  for (int j = 0; j < 4; ++j) {
    for (int k = 0; k < 8; ++k) {
      const int e = kSplitHalves ? 4 * j + k % 4 + 16 * (k / 4) : 8 * j + k;
      partial[j] = std::fma(static_cast<float>(codes[e]), x[e], partial[j]);
    }
  }
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

// Sum of 16 activations: lane l holds x[l] + x[l + 8], lanes combine 4, 2, 1.
float HalfSum(const float* x) {
  float lane[8];
  for (int l = 0; l < 8; ++l) lane[l] = x[l] + x[l + 8];
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

template <PanelFormat kFormat>
float AddFloat(const BlockCodes& w, const Activations& x, int64_t token, int64_t position, float acc) {
  const float* values = x.f32 + (token * x.num_blocks + position) * 32;
  acc = std::fma(DotBlock<kFormat.split_halves>(w.codes, values), w.scale, acc);
  if constexpr (kFormat.has_min) {
    const float first = static_cast<float>(w.min_codes[0]) * HalfSum(values);
    acc = std::fma(std::fma(static_cast<float>(w.min_codes[1]), HalfSum(values + 16), first), w.min_scale, acc);
  }
  return acc;
}

template <PanelFormat kFormat>
float AddInt8(const BlockCodes& w, const Activations& x, int64_t token, int64_t position, float acc) {
  const int64_t at = token * x.num_blocks + position;
  const int8_t* codes = x.q + at * 32;
  int32_t sum = 0;
  for (int e = 0; e < 32; ++e) sum += w.codes[e] * codes[e];
  acc = std::fma(static_cast<float>(sum), w.scale * x.d[at], acc);
  if constexpr (kFormat.has_min) {
    const int32_t min_sum = w.min_codes[0] * x.isum[2 * at] + w.min_codes[1] * x.isum[2 * at + 1];
    acc = std::fma(static_cast<float>(min_sum), w.min_scale * x.d[at], acc);
  }
  return acc;
}

// The sums of one output row for a tile of tokens: one open chain, and the finished ones waiting for their partner.
struct RowSums {
  float acc[kTokenTile] = {};
  float finished[3][kTokenTile] = {};

  // Closes the chain_number-th chain in order: as many merges as the tree closes there.
  void CloseChain(int chain_number, int tokens) {
    const int waiting = std::popcount(static_cast<unsigned>(chain_number));
    const int merges = std::countr_zero(static_cast<unsigned>(chain_number + 1));
    for (int t = 0; t < tokens; ++t) {
      float sum = acc[t];
      for (int k = 1; k <= merges; ++k) sum = finished[waiting - k][t] + sum;
      finished[waiting - merges][t] = sum;
      acc[t] = 0;
    }
  }
};

enum class Class { kFloat, kInt8 };

template <DType kType, Class kClass>
void AddBlock(const std::byte* panel, int64_t first_block, int64_t num_superblocks, int64_t position,
              int64_t index_in_chain, int row, const Activations& x, int64_t token, int tokens, RowSums& sums) {
  constexpr PanelFormat kFormat = FormatOf(kType);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  const std::byte* block = panel + first_block + position * kOffsets.block_bytes;
  if constexpr (kFormat.float_bytes != 0) {
    float weights[32];
    DecodeFloats<kType>(block, row, weights);
    for (int t = 0; t < tokens; ++t) {
      sums.acc[t] += DotBlock<false>(weights, x.f32 + ((token + t) * x.num_blocks + position) * 32);
    }
  } else {
    BlockCodes codes;
    // Block i of every chain lies in superblock i: a superblock is eight blocks.
    DecodeBlock<kFormat>(block, panel + 16 * index_in_chain, panel + 16 * (num_superblocks + index_in_chain), row,
                         codes);
    for (int t = 0; t < tokens; ++t) {
      sums.acc[t] = kClass == Class::kFloat ? AddFloat<kFormat>(codes, x, token + t, position, sums.acc[t])
                                            : AddInt8<kFormat>(codes, x, token + t, position, sums.acc[t]);
    }
  }
}

template <DType kType, Class kClass>
void Run(const PackedMatrix& weight, const Activations& x, int64_t panel_begin, int64_t panel_end, float* y,
         int64_t ldy) {
  constexpr PanelOffsets kOffsets = OffsetsOf(FormatOf(kType));
  const int64_t num_superblocks = kOffsets.superblock_bytes == 0 ? 0 : weight.num_blocks / kNumChains;
  const int64_t first_block = num_superblocks * kOffsets.superblock_bytes;
  const int64_t row_end = std::min(panel_end * kPanelRows, weight.num_rows);
  for (int64_t n = panel_begin * kPanelRows; n < row_end; ++n) {
    const std::byte* panel = weight.data.data() + n / kPanelRows * weight.panel_bytes;
    for (int64_t token = 0; token < x.num_rows; token += kTokenTile) {
      const int tokens = static_cast<int>(std::min<int64_t>(kTokenTile, x.num_rows - token));
      RowSums sums;
      int64_t position = 0;
      for (int chain = 0; chain < kNumChains; ++chain) {
        const int64_t length = (weight.num_blocks - kChainOrder[chain] + kNumChains - 1) / kNumChains;
        for (int64_t i = 0; i < length; ++i, ++position) {
          AddBlock<kType, kClass>(panel, first_block, num_superblocks, position, i, static_cast<int>(n % kPanelRows), x,
                                  token, tokens, sums);
        }
        sums.CloseChain(chain, tokens);
      }
      for (int t = 0; t < tokens; ++t) y[(token + t) * ldy + n] = sums.finished[0][t];
    }
  }
}

template <DType kType>
MatmulSet SetOf() {
  MatmulSet set;
  set.dot_f = Run<kType, Class::kFloat>;
  if constexpr (FormatOf(kType).float_bytes == 0) set.dot_i8 = Run<kType, Class::kInt8>;
  return set;
}

// Calls body(block b, position) for every block.
template <typename Body>
void ForEachBlock(int64_t num_blocks, const Body& body) {
  int64_t position = 0;
  for (const int chain : kChainOrder) {
    for (int64_t b = chain; b < num_blocks; b += kNumChains) body(b, position++);
  }
}

void LoadPadded(const float* x, int64_t block, int64_t num_cols, float (&out)[32]) {
  const int64_t count = std::min<int64_t>(32, num_cols - block * 32);
  for (int64_t e = 0; e < 32; ++e) out[e] = e < count ? x[block * 32 + e] : 0.0f;
}

}  // namespace

MatmulSet PortableMatmul(DType dtype) {
  return SelectByDType(dtype, [](auto type) { return SetOf<type()>(); });
}

void PrepareF32Portable(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, float* out) {
  const int64_t num_blocks = (num_cols + 31) / 32;
  for (int64_t row = 0; row < num_rows; ++row, x += ldx) {
    ForEachBlock(num_blocks, [&](int64_t b, int64_t position) {
      float values[32];
      LoadPadded(x, b, num_cols, values);
      std::memcpy(out + (row * num_blocks + position) * 32, values, sizeof values);
    });
  }
}

void PrepareQa8Portable(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, int8_t* q, float* d,
                        int16_t* isum) {
  const int64_t num_blocks = (num_cols + 31) / 32;
  for (int64_t row = 0; row < num_rows; ++row, x += ldx) {
    ForEachBlock(num_blocks, [&](int64_t b, int64_t position) {
      float values[32];
      LoadPadded(x, b, num_cols, values);
      // The largest magnitude by its bits: there NaN is above infinity, which is above every number.
      uint32_t largest = 0;
      for (const float v : values) largest = std::max(largest, std::bit_cast<uint32_t>(v) & 0x7FFFFFFFu);
      const float scale = std::bit_cast<float>(largest) / 127.0f;
      const float inverse = scale >= kQa8SmallestScale ? 1.0f / scale : 0.0f;
      const int64_t at = row * num_blocks + position;
      d[at] = scale;
      isum[2 * at] = isum[2 * at + 1] = 0;
      for (int e = 0; e < 32; ++e) {
        const float scaled = values[e] * inverse;
        const int code = std::isnan(scaled) ? 0 : static_cast<int>(std::round(scaled));
        q[at * 32 + e] = static_cast<int8_t>(code);
        isum[2 * at + e / 16] = static_cast<int16_t>(isum[2 * at + e / 16] + code);
      }
    });
  }
}

}  // namespace quern::ops::cpu
