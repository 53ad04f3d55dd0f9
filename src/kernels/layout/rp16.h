// rp16: the layout of weights for products with mma.sync: panels of 16 output rows, in the order in which a warp's
// lanes hold the operand A. Every load of a lane is one aligned word, pair or quadruple of words, and a warp's load is
// contiguous.
//
// A panel is a sequence of groups of 8 blocks (256 values of K); the last group may be shorter. A group is
//   head    formats with scales per 256 values: f16 d [16 rows], then f16 dmin [16 rows] if the format has it
//   blocks  in increasing K, each: planes, then d, |m|, sub-scales, minima, as far as the format has them per block
// "Rows" are always in the order g, g + 8 for g = 0 .. 7, so that a lane finds its two rows side by side. With
// g = lane / 4 and t = lane mod 4, lane's planes hold, for rows g and g + 8, values 4t .. 4t + 3 and 16 + 4t .. + 3:
//   4 bits  8 bytes: word r is row g + 8r; byte i holds value 4t + i low, value 16 + 4t + i high
//           formats with a table of codes: nibble 4h + i of word r holds value 16h + 4t + i, so that four neighbouring
//           nibbles select four bytes of the table
//   8 bits  16 bytes: word 2h + r is row g + 8r, values 16h + 4t .. + 3
//   2 bits  4 bytes: byte i holds row g, value 4t + i in bits 0-1, row g, 16 + 4t + i in 2-3, then row g + 8 likewise
//   1 bit   2 bytes: byte r is row g + 8r; bit 4h + i is value 16h + 4t + i
//   16-bit floats  16 bytes for each 16 values of K: word 2h + r is row g + 8r, values 8h + 2t and the next
// Rows beyond N are zero bytes. The functions are pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "tensor/code_form.h"
#include "tensor/tensor_view.h"

namespace quern::kernels {

inline constexpr uint32_t kRp16Rows = 16;
inline constexpr uint32_t kGroupBlocks = 8;

// Byte offsets inside a block; -1 where the format has no such part. Every size is a multiple of 16.
struct Rp16Format {
  int low_bits = 0;   // the main plane: 2, 4, 8 or 16 bits a value
  int high_bits = 0;  // the plane of the bits above: 0, 1 or 2
  int high_plane = -1;
  int scale = -1;       // f16 [16]; one byte E8M0 [16] for MXFP4
  int min_scale = -1;   // f16 [16]
  int sub_scales = -1;  // i8 [8][halves][2]: for g, half h: rows g, g + 8
  int mins = -1;        // u8, likewise
  int block_bytes = 0;
  int head_bytes = 0;  // of a group
};

// The layout of a quantised format or of F16, BF16.
Rp16Format Rp16FormatOf(DType type);
// Bytes of one panel of num_cols values (a multiple of 32) and of a whole matrix of num_rows.
int64_t Rp16PanelBytes(DType type, int64_t num_cols);
int64_t Rp16Bytes(DType type, int64_t num_rows, int64_t num_cols);
// Repacks [N, K] into out, of exactly Rp16Bytes. Unsupported for other dtypes and for K that is no multiple of 32.
Status PackRp16(const TensorView& source, std::span<std::byte> out);

}  // namespace quern::kernels
