// Expressions of the interpreter, for all threads of a block at once. Internal to kernels/ir.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

// The values of an expression or a register: [threads][lanes], the bits in the low end. A value nobody set is poison.
struct Column {
  Type type;
  std::vector<uint64_t> bits;
  std::vector<uint8_t> defined;  // [threads]

  Column() = default;
  Column(Type t, uint32_t threads, bool is_defined)
      : type(t), bits(size_t{threads} * t.lanes), defined(threads, is_defined ? 1 : 0) {}
  uint64_t& at(uint32_t thread, uint32_t lane = 0) { return bits[size_t{thread} * type.lanes + lane]; }
  uint64_t at(uint32_t thread, uint32_t lane = 0) const { return bits[size_t{thread} * type.lanes + lane]; }
};

struct BlockState {
  const Kernel& kernel;
  const std::vector<uint32_t>& params;
  uint32_t tile = 0;
  std::vector<Column> registers;
  std::vector<uint8_t> active;  // [threads]

  // The first broken rule; empty while there is none. Set through Fault only.
  std::string fault;
  void Fault(uint32_t thread, const std::string& what);
};

// Threads that are not active get unspecified values.
Column Evaluate(BlockState& state, ExprId expr);
// The scalar operation itself on bits. `ok` becomes false for a division by zero or a shift by the width or more.
uint64_t Apply(const Expr& expr, Type operand, const uint64_t* args, bool& ok);

}  // namespace quern::kernels::ir
