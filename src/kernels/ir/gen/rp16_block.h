// Generator parts for the layout rp16 (kernels/layout/rp16.h): reads one block of a panel from shared memory as the
// operands of an integer mma.sync, in the integer form of tensor/code_form.h.
#pragma once

#include <array>
#include <vector>

#include "kernels/ir/builder.h"
#include "tensor/dtype.h"

namespace quern::kernels::ir::gen {

// What is constant over a kernel for one format.
struct Rp16Reader {
  DType format;
  Value lane, g, t;  // g = lane / 4, t = lane mod 4
};

// The operand A of one block: four words for k = 32, whose products are 2^shift times those of the codes.
struct CodeOperand {
  std::array<Value, 4> words;  // row g + 8 (w mod 2), values 16 (w / 2) + 4t .. + 3
  bool is_signed = false;
};
// How far the signed form shifts the codes up: formats with an offset of half their range are read as two's complement
// in the upper bits of a byte, which costs no subtraction.
uint32_t CodeShift(DType format);
CodeOperand ReadCodes(Builder& b, const Rp16Reader& reader, uint32_t array, Value block_offset);

// Scales of rows g (index 0) and g + 8 (1), as f32.
using RowPair = std::array<Value, 2>;
// d of a block, or of a group's head.
RowPair ReadScale(Builder& b, const Rp16Reader& reader, uint32_t array, Value block_offset, Value head_offset);
// m (signed) likewise; formats with a minimum only.
RowPair ReadMinScale(Builder& b, const Rp16Reader& reader, uint32_t array, Value block_offset, Value head_offset);
// Sub-scales s as i32, [half][row]; one half stands for both when the format has one.
std::vector<RowPair> ReadSubScales(Builder& b, const Rp16Reader& reader, uint32_t array, Value block_offset);
// Minimum codes n as i32, likewise; empty when they are all 1.
std::vector<RowPair> ReadMins(Builder& b, const Rp16Reader& reader, uint32_t array, Value block_offset);

}  // namespace quern::kernels::ir::gen
