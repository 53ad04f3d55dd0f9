#include "kernels/ir/gen/rp16_block.h"

#include <span>

#include "base/check.h"
#include "kernels/layout/rp16.h"
#include "tensor/code_form.h"

namespace quern::kernels::ir::gen {
namespace {

uint32_t EveryByte(uint32_t byte) { return byte * 0x01010101u; }

// Two f16 in one word.
RowPair Halves(Builder& b, Value word) {
  const auto half = [&](Value bits) { return b.Cast(kF32, b.Bitcast(kF16, b.Cast(kU16, bits))); };
  return {half(word), half(word >> 16)};
}

Value SignedByte(Builder& b, Value word, uint32_t index) { return b.Cast(kI32, b.Cast(kI8, word >> (8 * index))); }
Value UnsignedByte(Builder& b, Value word, uint32_t index) {
  return b.Bitcast(kI32, index == 0 ? word & 255 : b.BytePerm(word, b.U32(0), b.U32(0x4440 + index)));
}

// Four signed bytes of a table of sixteen, selected by the low four nibbles of a word.
Value LookUp(Builder& b, std::span<const int8_t, 16> table, int offset, Value nibbles) {
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < 16; ++i) {
    words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(table[i] - offset)) << (8 * (i % 4));
  }
  // Three bits of a nibble choose among eight bytes; the fourth chooses between the two halves of the table.
  const Value first = b.Let("lower_half", b.BytePerm(b.U32(words[0]), b.U32(words[1]), nibbles));
  const Value second = b.Let("upper_half", b.BytePerm(b.U32(words[2]), b.U32(words[3]), nibbles));
  return b.Let("looked_up", b.BytePerm(first, second, (nibbles & 0x8888) >> 1 | b.U32(0x3210)));
}

// Bytes 2h (row g) and 2h + 1 (row g + 8) of a word as i32, for h = first and the halves after it.
std::vector<RowPair> Bytes(Builder& b, Value word, uint32_t first, int halves, bool is_signed) {
  std::vector<RowPair> out;
  for (uint32_t h = first; h < first + static_cast<uint32_t>(halves); ++h) {
    const auto byte = [&](uint32_t i) { return is_signed ? SignedByte(b, word, i) : UnsignedByte(b, word, i); };
    out.push_back({b.Let("part", byte(2 * h)), b.Let("part", byte(2 * h + 1))});
  }
  return out;
}

Value LoadBytes(Builder& b, uint32_t array, Value at, int halves) {
  if (halves == 2) return b.LoadShared("bytes", kU32, array, at);
  return b.Let("bytes", b.Cast(kU32, b.LoadShared("byte_pair", kU16, array, at)));
}

}  // namespace

uint32_t CodeShift(DType format) {
  const CodeForm form = CodeFormOf(format);
  return form.offset == 0 || form.table != CodeTable::kNone ? 0 : 8 - static_cast<uint32_t>(form.code_bits);
}

CodeOperand ReadCodes(Builder& b, const Rp16Reader& r, uint32_t array, Value block) {
  const CodeForm form = CodeFormOf(r.format);
  const Rp16Format layout = Rp16FormatOf(r.format);
  CodeOperand out;
  if (layout.low_bits == 8) {
    const Value v = b.LoadShared("codes", kU32x4, array, block + r.lane * 16);
    for (uint32_t w = 0; w < 4; ++w) out.words[w] = b.Extract(v, w);
    out.is_signed = true;
    return out;
  }
  if (form.table != CodeTable::kNone) {
    const auto& table = form.table == CodeTable::kIq4 ? kIq4Codes : kMxfp4Codes;
    const Value v = b.LoadShared("nibbles", kU32x2, array, block + r.lane * 8);
    for (uint32_t w = 0; w < 4; ++w) {
      const Value word = b.Extract(v, w % 2);
      out.words[w] = LookUp(b, table, form.offset, w < 2 ? word : word >> 16);
    }
    out.is_signed = true;
    return out;
  }
  if (form.code_bits == 4 && CodeShift(r.format) == 4) {
    // Nibbles in the upper half of bytes, less their offset: the top bit flipped.
    const Value v = b.LoadShared("nibbles", kU32x2, array, block + r.lane * 8);
    for (uint32_t w = 0; w < 4; ++w) {
      const Value word = b.Extract(v, w % 2);
      out.words[w] = b.Let("a", ((w < 2 ? word << 4 : word) & EveryByte(0xF0)) ^ EveryByte(0x80));
    }
    out.is_signed = true;
    return out;
  }
  std::array<Value, 4> codes;  // unsigned, in the low bits of bytes
  if (layout.low_bits == 4) {
    const Value v = b.LoadShared("nibbles", kU32x2, array, block + r.lane * 8);
    for (uint32_t w = 0; w < 4; ++w) {
      const Value word = b.Extract(v, w % 2);
      codes[w] = (w < 2 ? word : word >> 4) & EveryByte(15);
    }
  } else {
    const Value v = b.LoadShared("pairs", kU32, array, block + r.lane * 4);
    for (uint32_t w = 0; w < 4; ++w) codes[w] = (v >> (4 * (w % 2) + 2 * (w / 2))) & EveryByte(3);
  }
  if (layout.high_bits == 2) {
    const Value v = b.LoadShared("high", kU32, array, block + r.lane * 4 + layout.high_plane);
    for (uint32_t w = 0; w < 4; ++w)
      codes[w] = codes[w] | ((v >> (4 * (w % 2) + 2 * (w / 2))) & EveryByte(3)) << layout.low_bits;
  }
  if (layout.high_bits == 1) {
    const Value v =
        b.Let("high", b.Cast(kU32, b.LoadShared("high_bits", kU16, array, block + r.lane * 2 + layout.high_plane)));
    for (uint32_t w = 0; w < 4; ++w) {
      // The product puts bit i of four into byte i.
      const Value bits = (v >> (8 * (w % 2) + 4 * (w / 2))) & 15;
      codes[w] = codes[w] | (bits * 0x00204081u & EveryByte(1)) << layout.low_bits;
    }
  }
  const uint32_t shift = CodeShift(r.format);
  out.is_signed = shift != 0;
  for (uint32_t w = 0; w < 4; ++w) {
    // code - offset in two's complement: the top bit of the code flipped.
    out.words[w] = b.Let("a", shift == 0 ? codes[w] : (codes[w] << shift) ^ EveryByte(0x80));
  }
  return out;
}

RowPair ReadScale(Builder& b, const Rp16Reader& r, uint32_t array, Value block, Value head) {
  const Rp16Format layout = Rp16FormatOf(r.format);
  if (layout.scale < 0) return Halves(b, b.LoadShared("d_bits", kU32, array, head + r.g * 4));
  if (CodeFormOf(r.format).scale == ScaleKind::kE8m0PerBlock) {
    const Value pair =
        b.Let("e_bits", b.Cast(kU32, b.LoadShared("e_pair", kU16, array, block + r.g * 2 + layout.scale)));
    const auto power = [&](Value e) {
      // 2^(e - 128); the two smallest are subnormal.
      return b.Bitcast(kF32,
                       b.Select(b.U32(1) < e, (e - 1) << 23, b.Select(e == 0, b.U32(0x00200000u), b.U32(0x00400000u))));
    };
    return {power(b.Let("e", pair & 255)), power(b.Let("e", pair >> 8))};
  }
  return Halves(b, b.LoadShared("d_bits", kU32, array, block + r.g * 4 + layout.scale));
}

RowPair ReadMinScale(Builder& b, const Rp16Reader& r, uint32_t array, Value block, Value head) {
  const Rp16Format layout = Rp16FormatOf(r.format);
  if (layout.min_scale >= 0) return Halves(b, b.LoadShared("m_bits", kU32, array, block + r.g * 4 + layout.min_scale));
  const Value bits = b.LoadShared("m_bits", kU32, array, head + r.g * 4 + 32);
  return Halves(b, bits ^ 0x80008000u);  // K-quants subtract the minimum
}

SmallScales ReadSmallScales(Builder& b, const Rp16Reader& r, uint32_t array, Value block) {
  const CodeForm form = CodeFormOf(r.format);
  const Rp16Format layout = Rp16FormatOf(r.format);
  SmallScales out;
  const Value row = r.g * static_cast<uint32_t>(layout.byte_stride);
  if (form.sub_scales == 1 && form.min_codes == 1) {
    const Value word = b.LoadShared("bytes", kU32, array, block + row + layout.sub_scales);
    out.sub_scales = Bytes(b, word, 0, 1, false);
    out.mins = Bytes(b, word, 1, 1, false);
    return out;
  }
  if (form.sub_scales != 0) {
    out.sub_scales = Bytes(b, LoadBytes(b, array, block + row + layout.sub_scales, form.sub_scales), 0, form.sub_scales,
                           form.signed_sub_scales);
  }
  if (form.min_codes != 0)
    out.mins = Bytes(b, LoadBytes(b, array, block + row + layout.mins, form.min_codes), 0, form.min_codes, false);
  return out;
}

}  // namespace quern::kernels::ir::gen
