// Generator parts for activations in qa8 tiles (kernels/layout/qa8_tile.h): the operand B of an integer mma.sync, with
// the scales and sums that belong to a lane's two columns.
#pragma once

#include <array>
#include <vector>

#include "kernels/ir/builder.h"

namespace quern::kernels::ir::gen {

// One pair of blocks, or one half of a pair, in registers.
struct PairOperand {
  Reg q;                  // u32x4, or u32x2
  std::vector<Reg> d;     // f32x4 {col 0: block 0, 1; col 1: block 0, 1}; or f32 for each column
  std::vector<Reg> isum;  // for each column i32x4 [block][half], or i32x2 [half]; empty when not wanted
  uint32_t blocks = 2;    // 2, or 1

  // Block k (0 or 1) of the pair.
  std::array<Value, 2> Words(Builder& b, uint32_t k) const;
  Value Scale(Builder& b, uint32_t k, uint32_t column) const;
  Value Sum(Builder& b, uint32_t k, uint32_t half, uint32_t column) const;
};

class Qa8Reader {
 public:
  struct Options {
    uint32_t q = 0, d = 0, isum = 0;  // buffers
    bool with_sums = false;
    uint32_t chains = 8;    // of a warp: 1 reads half pairs
    Value part;             // the warp's part of a group: its chains are part * chains and the following
    Value row_tile, pairs;  // of the tile at hand; pairs per row
    Value has_row;          // whether this lane's row exists: beyond, the operand is zero
  };
  Qa8Reader(Builder& b, const Options& options);

  PairOperand Declare(std::string_view name);
  // Loads pair i of the warp's chains in a group. `exists` (or none) guards against a K that ends before.
  void Load(const PairOperand& operand, Value group, uint32_t i, Value exists = {});
  static void Copy(Builder& b, const PairOperand& to, const PairOperand& from);

 private:
  Builder& b_;
  Options o_;
  Value q_base_, d_base_, isum_base_;  // u64: this lane's first bytes
};

}  // namespace quern::kernels::ir::gen
