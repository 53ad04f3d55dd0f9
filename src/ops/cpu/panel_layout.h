// How the blocks of a packed panel lie in memory, format by format: the contract between packing and the product
// kernels.
//
// Every quantised format is brought to one form. Output row r of a block of 32 values has
//   integer codes  c[e] = s[e / 16] * (q[e] - offset)      q unsigned, or looked up, or two's complement (offset 0)
//   a scale        d
//   a minimum      n[h] for each half h, and its scale m    (formats with a minimum only)
// and stands for the values  d * c[e] + m * n[e / 16].  c, s and n are integers, so everything inside a block is exact:
// the dot product of a block with int8 activations stays below 2^24 for every format.
//
// A panel (8 rows) is: for K-quants, f16 d [K / 256][8] and then f16 dmin [K / 256][8]; then K / 32 blocks,
// chain-major. A block holds, in this order and as far as the format has them: d (f16 or E8M0) [8]; m f16 [8]; s
// [halves][8]; n u8 [halves][8]; and code planes. The unit of a plane is one 32-byte vector: 4 consecutive values of
// each of 8 rows, byte 4 * r + i holding value i of row r. Group g means values 4g .. 4g + 3 of the block.
//   nibbles, 4 vectors:  vector j holds group First(j) in the low and Second(j) in the high nibbles
//   2 bits, 2 vectors:   vector h holds group 4h + f at bits 2f, 2f + 1
//   1 bit, 1 vector:     bit g belongs to group g
//   8 bits, 8 vectors:   vector g holds group g
// Plain floats: f32 and f16 are [32][8 rows]; bf16 is [16][8 rows] pairs (value 2k in the low half of a word, 2k + 1 in
// the high half), so that one load and one bit operation per vector make floats.
//
// Everything here is evaluated at compile time: no function of this header may end up in an object file that is
// compiled for one instruction set and be linked into another.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace quern::ops::cpu {

enum class CodeTable : uint8_t { kNone, kIq4, kMxfp4 };
enum class ScaleKind : uint8_t { kNone, kHalfPerBlock, kE8m0PerBlock, kHalfPerSuperblock };

struct PanelFormat {
  int code_bits = 0;       // 2, 3, 4, 5, 6, 8; 0: plain float
  int offset = 0;          // subtracted from the unsigned code
  bool is_signed = false;  // codes are int8 (after the look-up, if any)
  CodeTable table = CodeTable::kNone;
  ScaleKind scale = ScaleKind::kNone;
  int sub_scales = 0;  // s per block and row: 0 (all 1), 1, or 2 (one per half)
  bool signed_sub_scales = false;
  bool has_min = false;
  int min_codes = 0;          // n per block and row: 0 (all 1), 1, or 2
  bool min_in_scale = false;  // n in the high nibble of s (Q2_K)
  bool split_halves = false;  // the file's nibbles pair values e and e + 16; fixes the order of class dot-f
  int float_bytes = 0;        // plain floats
};

constexpr PanelFormat FormatOf(DType type) {
  PanelFormat f;
  switch (type) {
    case DType::kF32:
    case DType::kF64:
      f.float_bytes = 4;
      break;
    case DType::kF16:
    case DType::kBF16:
      f.float_bytes = 2;
      break;
    case DType::kQ4_0:
      f = {.code_bits = 4, .offset = 8, .scale = ScaleKind::kHalfPerBlock, .split_halves = true};
      break;
    case DType::kQ4_1:
      f = {.code_bits = 4, .scale = ScaleKind::kHalfPerBlock, .has_min = true, .split_halves = true};
      break;
    case DType::kQ5_0:
      f = {.code_bits = 5, .offset = 16, .scale = ScaleKind::kHalfPerBlock, .split_halves = true};
      break;
    case DType::kQ5_1:
      f = {.code_bits = 5, .scale = ScaleKind::kHalfPerBlock, .has_min = true, .split_halves = true};
      break;
    case DType::kQ8_0:
      f = {.code_bits = 8, .is_signed = true, .scale = ScaleKind::kHalfPerBlock};
      break;
    case DType::kQ2_K:
      f = {.code_bits = 2,
           .scale = ScaleKind::kHalfPerSuperblock,
           .sub_scales = 2,
           .has_min = true,
           .min_codes = 2,
           .min_in_scale = true};
      break;
    case DType::kQ3_K:
      f = {.code_bits = 3,
           .offset = 4,
           .scale = ScaleKind::kHalfPerSuperblock,
           .sub_scales = 2,
           .signed_sub_scales = true};
      break;
    case DType::kQ4_K:
      f = {.code_bits = 4, .scale = ScaleKind::kHalfPerSuperblock, .sub_scales = 1, .has_min = true, .min_codes = 1};
      break;
    case DType::kQ5_K:
      f = {.code_bits = 5, .scale = ScaleKind::kHalfPerSuperblock, .sub_scales = 1, .has_min = true, .min_codes = 1};
      break;
    case DType::kQ6_K:
      f = {.code_bits = 6,
           .offset = 32,
           .scale = ScaleKind::kHalfPerSuperblock,
           .sub_scales = 2,
           .signed_sub_scales = true};
      break;
    case DType::kIQ4_NL:
      f = {.code_bits = 4,
           .is_signed = true,
           .table = CodeTable::kIq4,
           .scale = ScaleKind::kHalfPerBlock,
           .split_halves = true};
      break;
    case DType::kIQ4_XS:
      f = {.code_bits = 4,
           .is_signed = true,
           .table = CodeTable::kIq4,
           .scale = ScaleKind::kHalfPerSuperblock,
           .sub_scales = 1,
           .signed_sub_scales = true,
           .split_halves = true};
      break;
    case DType::kMXFP4:  // looked up as twice the E2M1 value plus 12, which is unsigned
      f = {.code_bits = 4,
           .offset = 12,
           .table = CodeTable::kMxfp4,
           .scale = ScaleKind::kE8m0PerBlock,
           .split_halves = true};
      break;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      break;
  }
  return f;
}

// Byte offsets inside a block, and sizes.
struct PanelOffsets {
  int scale = 0, min_scale = 0, sub_scales = 0, mins = 0, planes = 0, high_plane = 0;
  int block_bytes = 0;
  int superblock_bytes = 0;  // of the panel's head, per 256 values
};

constexpr PanelOffsets OffsetsOf(PanelFormat f) {
  PanelOffsets o;
  if (f.float_bytes != 0) {
    o.block_bytes = 32 * 8 * f.float_bytes;
    return o;
  }
  int at = 0;
  if (f.scale == ScaleKind::kHalfPerBlock) at += 16;
  if (f.scale == ScaleKind::kE8m0PerBlock) at += 8;
  o.min_scale = at;
  if (f.has_min && f.scale == ScaleKind::kHalfPerBlock) at += 16;
  o.sub_scales = at;
  at += 8 * f.sub_scales;
  o.mins = at;
  if (!f.min_in_scale) at += 8 * f.min_codes;
  o.planes = at;
  const int low_bits = f.code_bits == 8 ? 8 : f.code_bits >= 4 ? 4 : 2;
  at += 32 * low_bits;
  o.high_plane = at;
  at += 32 * (f.code_bits - low_bits);
  o.block_bytes = at;
  if (f.scale == ScaleKind::kHalfPerSuperblock) o.superblock_bytes = f.has_min ? 32 : 16;
  return o;
}

// The look-up tables: IQ4_NL's codes, and twice the E2M1 values plus 12.
inline constexpr int8_t kIq4Codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t kMxfp4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

// Order in which the chains of a panel lie: the leaves of the tree that combines 4, 2, 1.
inline constexpr int kChainOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

}  // namespace quern::ops::cpu
