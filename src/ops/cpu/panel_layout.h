// How the blocks of a packed panel lie in memory, format by format: the contract between packing and the product
// kernels.
//
// Every quantised format is brought to the integer form of tensor/code_form.h.
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

#include "tensor/code_form.h"

namespace quern::ops::cpu {

using PanelFormat = CodeForm;
constexpr PanelFormat FormatOf(DType type) { return CodeFormOf(type); }

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

// Order in which the chains of a panel lie: the leaves of the tree that combines 4, 2, 1.
inline constexpr int kChainOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

}  // namespace quern::ops::cpu
