#include "ops/cpu/packed_matrix.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ops/cpu/panel_layout.h"
#include "tensor/half.h"

namespace quern::ops::cpu {
namespace {

struct Geometry {
  int64_t num_blocks = 0;
  int64_t num_superblocks = 0;
  int64_t first_block = 0;               // byte offset of the first block in a panel
  std::array<int64_t, 8> chain_begin{};  // position of a chain's first block
};

struct PanelTarget {
  std::byte* panel;
  const Geometry& geometry;
  int block_bytes;

  std::byte* Block(int64_t b) const {
    return panel + geometry.first_block + (geometry.chain_begin[b % kNumChains] + b / kNumChains) * block_bytes;
  }
};

uint8_t Byte(const std::byte* p) { return static_cast<uint8_t>(*p); }

void PutByte(std::byte* block, int offset, int row, int value) { block[offset + row] = static_cast<std::byte>(value); }

void PutHalf(std::byte* block, int offset, int row, const std::byte* half) {
  std::memcpy(block + offset + 2 * row, half, 2);
}

// Four codes at a time, one per byte: word g of a block holds the codes of group g.
using GroupWords = uint32_t[8];
constexpr uint32_t kOneBit = 0x01010101u, kTwoBits = 0x03030303u, kFourBits = 0x0F0F0F0Fu;

uint32_t Word(const std::byte* p) {
  uint32_t word = 0;
  std::memcpy(&word, p, 4);
  return word;
}
void PutWord(std::byte* p, uint32_t word) { std::memcpy(p, &word, 4); }

// Writes the codes of one row into the planes of a block.
template <PanelFormat kFormat>
void PutCodes(std::byte* block, int row, const GroupWords& codes) {
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  std::byte* planes = block + kOffsets.planes + 4 * row;
  std::byte* high = block + kOffsets.high_plane + 4 * row;
  if constexpr (kFormat.code_bits >= 4) {
    for (int v = 0; v < 4; ++v) {
      const uint32_t low = codes[kFormat.split_halves ? v : 2 * v] & kFourBits;
      PutWord(planes + 32 * v, low | (codes[kFormat.split_halves ? v + 4 : 2 * v + 1] & kFourBits) << 4);
    }
  }
  if constexpr (kFormat.code_bits < 4 || kFormat.code_bits == 6) {  // a plane of two bits, the lowest or the highest
    constexpr int kShift = kFormat.code_bits < 4 ? 0 : 4;
    for (int h = 0; h < 2; ++h) {
      uint32_t word = 0;
      for (int f = 0; f < 4; ++f) word |= ((codes[4 * h + f] >> kShift) & kTwoBits) << (2 * f);
      PutWord((kShift == 0 ? planes : high) + 32 * h, word);
    }
  }
  if constexpr (kFormat.code_bits == 5 || kFormat.code_bits == 3) {
    uint32_t word = 0;
    for (int g = 0; g < 8; ++g) word |= ((codes[g] >> (kFormat.code_bits - 1)) & kOneBit) << g;
    PutWord(high, word);
  }
}

// ---- One row of a file format, block by block. Layouts: docs/formats/quant.md. ----

// Formats of 16 bytes of nibbles per block whose packed nibbles are the file's own words: four copies of four bytes.
template <DType kType>
void PackNibbleRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelOffsets kOffsets = OffsetsOf(FormatOf(kType));
  constexpr bool kHasMin = FormatOf(kType).has_min;
  constexpr int kScaleBytes = kType == DType::kMXFP4 ? 1 : 2;
  constexpr int kCodesAt = kScaleBytes + (kHasMin ? 2 : 0);
  for (int64_t b = 0; b < target.geometry.num_blocks; ++b, source += kCodesAt + 16) {
    std::byte* block = target.Block(b);
    if constexpr (kScaleBytes == 1) {
      PutByte(block, kOffsets.scale, row, Byte(source));
    } else {
      PutHalf(block, kOffsets.scale, row, source);
    }
    if constexpr (kHasMin) PutHalf(block, kOffsets.min_scale, row, source + 2);
    for (int j = 0; j < 4; ++j) std::memcpy(block + kOffsets.planes + 32 * j + 4 * row, source + kCodesAt + 4 * j, 4);
  }
}

template <DType kType>
void PackFiveBitRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelFormat kFormat = FormatOf(kType);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  constexpr int kHighAt = kFormat.has_min ? 4 : 2;
  for (int64_t b = 0; b < target.geometry.num_blocks; ++b, source += kHighAt + 20) {
    std::byte* block = target.Block(b);
    PutHalf(block, kOffsets.scale, row, source);
    if constexpr (kFormat.has_min) PutHalf(block, kOffsets.min_scale, row, source + 2);
    const uint32_t high = Word(source + kHighAt);
    GroupWords codes;
    for (int g = 0; g < 8; ++g) {
      // The product puts bit i of four into byte i.
      const uint32_t fifth = (((high >> (4 * g)) & 15) * 0x00204081u) & kOneBit;
      codes[g] = ((Word(source + kHighAt + 4 + 4 * (g % 4)) >> (4 * (g / 4))) & kFourBits) | fifth << 4;
    }
    PutCodes<kFormat>(block, row, codes);
  }
}

void PackQ8_0Row(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelOffsets kOffsets = OffsetsOf(FormatOf(DType::kQ8_0));
  for (int64_t b = 0; b < target.geometry.num_blocks; ++b, source += 34) {
    std::byte* block = target.Block(b);
    PutHalf(block, kOffsets.scale, row, source);
    for (int g = 0; g < 8; ++g) std::memcpy(block + kOffsets.planes + 32 * g + 4 * row, source + 2 + 4 * g, 4);
  }
}

// The superblock's f16 d and dmin go to the panel's head.
void PutSuperblockScales(const PanelTarget& target, int64_t superblock, int row, const std::byte* d,
                         const std::byte* dmin) {
  PutHalf(target.panel, static_cast<int>(16 * superblock), row, d);
  if (dmin == nullptr) return;
  PutHalf(target.panel, static_cast<int>(16 * (target.geometry.num_superblocks + superblock)), row, dmin);
}

void PackQ2_KRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelFormat kFormat = FormatOf(DType::kQ2_K);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  for (int64_t s = 0; s < target.geometry.num_superblocks; ++s, source += 84) {
    PutSuperblockScales(target, s, row, source + 80, source + 82);
    for (int b = 0; b < 8; ++b) {
      std::byte* block = target.Block(8 * s + b);
      for (int h = 0; h < 2; ++h) PutByte(block, kOffsets.sub_scales + 8 * h, row, Byte(source + 2 * b + h));
      const std::byte* low = source + 16 + 32 * (b / 4);
      GroupWords codes;
      for (int g = 0; g < 8; ++g) codes[g] = (Word(low + 4 * g) >> (2 * (b % 4))) & kTwoBits;
      PutCodes<kFormat>(block, row, codes);
    }
  }
}

void PackQ3_KRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelFormat kFormat = FormatOf(DType::kQ3_K);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  for (int64_t s = 0; s < target.geometry.num_superblocks; ++s, source += 110) {
    PutSuperblockScales(target, s, row, source + 108, nullptr);
    const std::byte* scales = source + 96;
    for (int b = 0; b < 8; ++b) {
      std::byte* block = target.Block(8 * s + b);
      for (int h = 0; h < 2; ++h) {
        const int g = 2 * b + h;
        const int low = g < 8 ? Byte(scales + g) & 15 : Byte(scales + g - 8) >> 4;
        const int high = (Byte(scales + 8 + g % 4) >> (2 * (g / 4))) & 3;
        PutByte(block, kOffsets.sub_scales + 8 * h, row, (low | high << 4) - 32);
      }
      const std::byte* low = source + 32 + 32 * (b / 4);
      GroupWords codes;  // less 4: a set bit of the mask means "do not subtract"
      for (int g = 0; g < 8; ++g) {
        codes[g] = ((Word(low + 4 * g) >> (2 * (b % 4))) & kTwoBits) | ((Word(source + 4 * g) >> b) & kOneBit) << 2;
      }
      PutCodes<kFormat>(block, row, codes);
    }
  }
}

template <DType kType>
void PackQ45_KRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelFormat kFormat = FormatOf(kType);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  constexpr bool kFive = kFormat.code_bits == 5;
  constexpr int kCodesAt = kFive ? 48 : 16;
  for (int64_t s = 0; s < target.geometry.num_superblocks; ++s, source += kCodesAt + 128) {
    PutSuperblockScales(target, s, row, source, source + 2);
    const std::byte* scales = source + 4;
    for (int b = 0; b < 8; ++b) {
      std::byte* block = target.Block(8 * s + b);
      const int own = Byte(scales + b % 4), later = Byte(scales + b % 4 + 4), last = Byte(scales + b % 4 + 8);
      PutByte(block, kOffsets.sub_scales, row, b < 4 ? own & 63 : (last & 15) | (own >> 6) << 4);
      PutByte(block, kOffsets.mins, row, b < 4 ? later & 63 : (last >> 4) | (later >> 6) << 4);
      const std::byte* low = source + kCodesAt + 32 * (b / 2);
      GroupWords codes;
      for (int g = 0; g < 8; ++g) {
        codes[g] = (Word(low + 4 * g) >> (4 * (b % 2))) & kFourBits;
        if constexpr (kFive) codes[g] |= ((Word(source + 16 + 4 * g) >> b) & kOneBit) << 4;
      }
      PutCodes<kFormat>(block, row, codes);
    }
  }
}

void PackQ6_KRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelFormat kFormat = FormatOf(DType::kQ6_K);
  constexpr PanelOffsets kOffsets = OffsetsOf(kFormat);
  for (int64_t s = 0; s < target.geometry.num_superblocks; ++s, source += 210) {
    PutSuperblockScales(target, s, row, source + 208, nullptr);
    for (int b = 0; b < 8; ++b) {
      std::byte* block = target.Block(8 * s + b);
      for (int h = 0; h < 2; ++h) PutByte(block, kOffsets.sub_scales + 8 * h, row, Byte(source + 192 + 2 * b + h));
      const std::byte* low = source + 64 * (b / 4) + 32 * (b % 2);
      const std::byte* high = source + 128 + 32 * (b / 4);
      GroupWords codes;
      for (int g = 0; g < 8; ++g) {
        const uint32_t nibbles = (Word(low + 4 * g) >> (4 * ((b % 4) / 2))) & kFourBits;
        codes[g] = nibbles | ((Word(high + 4 * g) >> (2 * (b % 4))) & kTwoBits) << 4;
      }
      PutCodes<kFormat>(block, row, codes);
    }
  }
}

void PackIq4XsRow(const std::byte* source, int row, const PanelTarget& target) {
  constexpr PanelOffsets kOffsets = OffsetsOf(FormatOf(DType::kIQ4_XS));
  for (int64_t s = 0; s < target.geometry.num_superblocks; ++s, source += 136) {
    PutSuperblockScales(target, s, row, source, nullptr);
    const int scales_high = Byte(source + 2) | Byte(source + 3) << 8;
    for (int b = 0; b < 8; ++b) {
      std::byte* block = target.Block(8 * s + b);
      const int low = (Byte(source + 4 + b / 2) >> (4 * (b % 2))) & 15;
      PutByte(block, kOffsets.sub_scales, row, (low | ((scales_high >> (2 * b)) & 3) << 4) - 32);
      for (int j = 0; j < 4; ++j) {
        std::memcpy(block + kOffsets.planes + 32 * j + 4 * row, source + 8 + 16 * b + 4 * j, 4);
      }
    }
  }
}

// ---- Plain floats. ----

template <DType kType>
void PackFloatRow(const std::byte* source, int row, const PanelTarget& target, int64_t num_cols) {
  for (int64_t b = 0; b < target.geometry.num_blocks; ++b) {
    std::byte* block = target.Block(b);
    const int count = static_cast<int>(std::min<int64_t>(kBlockElems, num_cols - b * kBlockElems));
    for (int e = 0; e < count; ++e) {
      const int64_t index = b * kBlockElems + e;
      if constexpr (kType == DType::kF64) {
        double value = 0;
        std::memcpy(&value, source + 8 * index, 8);
        const float narrowed = static_cast<float>(value);
        std::memcpy(block + 4 * (kPanelRows * e + row), &narrowed, 4);
      } else if constexpr (kType == DType::kF32) {
        std::memcpy(block + 4 * (kPanelRows * e + row), source + 4 * index, 4);
      } else if constexpr (kType == DType::kF16) {
        std::memcpy(block + 2 * (kPanelRows * e + row), source + 2 * index, 2);
      } else {
        std::memcpy(block + 4 * (kPanelRows * (e / 2) + row) + 2 * (e % 2), source + 2 * index, 2);
      }
    }
  }
}

void PackRow(DType type, const std::byte* source, int row, const PanelTarget& target, int64_t num_cols) {
  switch (type) {
    case DType::kF32:
      return PackFloatRow<DType::kF32>(source, row, target, num_cols);
    case DType::kF64:
      return PackFloatRow<DType::kF64>(source, row, target, num_cols);
    case DType::kF16:
      return PackFloatRow<DType::kF16>(source, row, target, num_cols);
    case DType::kBF16:
      return PackFloatRow<DType::kBF16>(source, row, target, num_cols);
    case DType::kQ4_0:
      return PackNibbleRow<DType::kQ4_0>(source, row, target);
    case DType::kQ4_1:
      return PackNibbleRow<DType::kQ4_1>(source, row, target);
    case DType::kIQ4_NL:
      return PackNibbleRow<DType::kIQ4_NL>(source, row, target);
    case DType::kMXFP4:
      return PackNibbleRow<DType::kMXFP4>(source, row, target);
    case DType::kQ5_0:
      return PackFiveBitRow<DType::kQ5_0>(source, row, target);
    case DType::kQ5_1:
      return PackFiveBitRow<DType::kQ5_1>(source, row, target);
    case DType::kQ8_0:
      return PackQ8_0Row(source, row, target);
    case DType::kQ2_K:
      return PackQ2_KRow(source, row, target);
    case DType::kQ3_K:
      return PackQ3_KRow(source, row, target);
    case DType::kQ4_K:
      return PackQ45_KRow<DType::kQ4_K>(source, row, target);
    case DType::kQ5_K:
      return PackQ45_KRow<DType::kQ5_K>(source, row, target);
    case DType::kQ6_K:
      return PackQ6_KRow(source, row, target);
    case DType::kIQ4_XS:
      return PackIq4XsRow(source, row, target);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return;
  }
}

template <DType kType>
constexpr PanelOffsets kOffsetsOf = OffsetsOf(FormatOf(kType));

template <int... kIndex>
constexpr std::array<PanelOffsets, sizeof...(kIndex)> AllOffsets(std::integer_sequence<int, kIndex...>) {
  return {kOffsetsOf<static_cast<DType>(kIndex)>...};
}
constexpr auto kOffsetTable = AllOffsets(std::make_integer_sequence<int, kNumDTypes>{});

Geometry GeometryOf(DType type, int64_t num_cols) {
  const PanelOffsets& offsets = kOffsetTable[static_cast<size_t>(type)];
  Geometry g;
  g.num_blocks = (num_cols + kBlockElems - 1) / kBlockElems;
  g.num_superblocks = offsets.superblock_bytes == 0 ? 0 : g.num_blocks / kNumChains;
  g.first_block = g.num_superblocks * offsets.superblock_bytes;
  int64_t at = 0;
  for (const int chain : kChainOrder) {
    g.chain_begin[chain] = at;
    at += (g.num_blocks - chain + kNumChains - 1) / kNumChains;
  }
  return g;
}

int64_t PanelBytes(DType type, const Geometry& g) {
  constexpr int64_t kAlignment = 64;
  const int64_t bytes = g.first_block + g.num_blocks * kOffsetTable[static_cast<size_t>(type)].block_bytes;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

int64_t PackedBytes(DType dtype, int64_t num_rows, int64_t num_cols) {
  return (num_rows + kPanelRows - 1) / kPanelRows * PanelBytes(dtype, GeometryOf(dtype, num_cols));
}

Result<PackedMatrix> PackMatrix(const TensorView& source, ThreadTeam& team) {
  if (!InfoOf(source.dtype).is_float) {
    return Fail(Code::kUnsupported, "a product with {} weights does not exist", NameOf(source.dtype));
  }
  PackedMatrix packed;
  packed.dtype = source.dtype;
  packed.num_rows = source.num_rows();
  packed.num_cols = source.row_elems();
  const Geometry geometry = GeometryOf(source.dtype, packed.num_cols);
  packed.num_blocks = geometry.num_blocks;
  packed.panel_bytes = PanelBytes(source.dtype, geometry);
  QUERN_ASSIGN_OR_RETURN(packed.data, device::cpu::HostBuffer::Allocate(static_cast<size_t>(
                                          PackedBytes(source.dtype, packed.num_rows, packed.num_cols))));
  const int block_bytes = kOffsetTable[static_cast<size_t>(source.dtype)].block_bytes;
  const int64_t num_panels = (packed.num_rows + kPanelRows - 1) / kPanelRows;
  team.For(num_panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const PanelTarget target{packed.data.data() + panel * packed.panel_bytes, geometry, block_bytes};
      const int rows = static_cast<int>(std::min<int64_t>(kPanelRows, packed.num_rows - panel * kPanelRows));
      for (int r = 0; r < rows; ++r) {
        PackRow(source.dtype, source.row(panel * kPanelRows + r), r, target, packed.num_cols);
      }
    }
  });
  return packed;
}

}  // namespace quern::ops::cpu
