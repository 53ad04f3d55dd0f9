// CodeForm: the one integer form that every quantised format is brought to for products.
//
// A block of 32 values has
//   integer codes  c[e] = s[e / 16] * (q[e] - offset)      q unsigned, or looked up, or two's complement (offset 0)
//   a scale        d
//   a minimum      n[h] for each half h, and its scale m    (formats with a minimum only)
// and stands for the values  d * c[e] + m * n[e / 16].  c, s and n are integers, so everything inside a block is exact:
// the dot product of a block with int8 activations stays below 2^24 for every format.
//
// CodeFormOf is evaluated at compile time wherever code is compiled for one instruction set: it must not end up in such
// an object file and be linked into another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace quern {

enum class CodeTable : uint8_t { kNone, kIq4, kMxfp4 };
enum class ScaleKind : uint8_t { kNone, kHalfPerBlock, kE8m0PerBlock, kHalfPerSuperblock };

struct CodeForm {
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

constexpr CodeForm CodeFormOf(DType type) {
  CodeForm f;
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

// The look-up tables: IQ4_NL's codes, and twice the E2M1 values plus 12.
inline constexpr int8_t kIq4Codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t kMxfp4Codes[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

// QA8 blocks of activations whose scale is below this have codes 0. So every product of scales that meets a code is far
// from the subnormal floats, and a kernel may accumulate a power of two times the sum, exactly.
inline constexpr float kQa8SmallestScale = 0x1p-80f;

// One block as a product sees it.
struct CodeBlock {
  uint8_t codes[32] = {};  // q as stored: unsigned, an index into the table, or the byte of a signed code
  int8_t sub_scales[2] = {1, 1};
  uint8_t mins[2] = {1, 1};  // n; meaningless without a minimum
  uint16_t scale = 0;        // d: the bits of an f16, or an E8M0 exponent
  uint16_t min_scale = 0;    // |m|: the bits of an f16. m is its negative for K-quants, itself for the others
};

// Block `index` (of 32 values) of a row of the given quantised format. Pure; any thread.
CodeBlock ReadCodeBlock(DType type, const std::byte* row, int64_t index);

}  // namespace quern
