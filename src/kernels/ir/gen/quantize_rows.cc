#include "kernels/ir/gen/quantize_rows.h"

#include <array>

#include "kernels/ir/builder.h"
#include "kernels/ir/gen/kernel_name.h"
#include "kernels/layout/qa8_tile.h"
#include "tensor/code_form.h"

namespace quern::kernels::ir::gen {
namespace {

// The largest value among the four lanes of a row.
Value RowMax(Builder& b, Value v) {
  return b.WarpReduce(
      "largest", v, [&](Value x, Value y) { return b.Max(x, y); }, 2);
}
Value RowSum(Builder& b, Value v) {
  return b.WarpReduce(
      "sum", v, [&](Value x, Value y) { return x + y; }, 2);
}

}  // namespace

Result<Kernel> QuantizeRows(const Descriptor& d, const Schedule& s) {
  if (d.family != Family::kQuantizeRows || d.in != Encoding::kF32 || d.out != Encoding::kQa8 || !d.dim("R") ||
      !d.dim("K") || d.dim("K")->multiple_of % 32 != 0) {
    return Fail(Code::kUnsupported, "no kernel quantises rows for {}", CanonicalText(d));
  }
  Builder b({.warps = s.warps, .min_blocks = s.min_blocks});
  const Value rows = b.U32Param("rows", d.dim("R")->min, d.dim("R")->max);
  const Value blocks = b.U32Param("blocks", d.dim("K")->min / 32, d.dim("K")->max / 32);
  const Value row_tiles = b.DivideUp(rows, kTileRows), pairs = b.DivideUp(blocks, 2);
  const Value warps_needed = row_tiles * pairs;
  const Value planes = b.Wide(row_tiles) * b.Wide(pairs);
  const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(rows) * b.Wide(blocks) * 128);
  const uint32_t q = b.AddBuffer("q", Access::kWrite, planes * 512);
  const uint32_t scales = b.AddBuffer("d", Access::kWrite, planes * 64);
  const uint32_t isum = b.AddBuffer("isum", Access::kWrite, planes * 128);

  const Value item = b.Let("item", b.Tile() * s.warps + b.Warp());
  const Value g = b.Let("g", b.Lane() >> 2), t = b.Let("t", b.Lane() & 3);
  b.If(item < warps_needed, Uniform::kWarp, [&] {
    const Value row_tile = b.Let("row_tile", item / pairs), pair = b.Let("pair", item % pairs);
    const Value row = b.Let("row", row_tile * kTileRows + g);
    const Value row_at = b.Let("row_at", (b.Wide(row) * b.Wide(blocks) + b.Wide(pair * 2)) * 128);
    std::array<std::array<Value, 4>, 4> values;  // [group of 16][element]
    for (uint32_t j = 0; j < 4; ++j) {
      const Value exists = (row < rows) & (pair * 2 + j / 2 < blocks);
      const Value v = b.Load("v", kF32x4, x, row_at + b.Wide(t * 16 + j * 64), exists);
      for (uint32_t i = 0; i < 4; ++i) values[j][i] = b.Extract(v, i);
    }
    std::array<Value, 2> scale;
    std::array<Value, 4> words, sums;
    for (uint32_t block = 0; block < 2; ++block) {
      // By the bits of the magnitude: there NaN is above infinity, which is above every number.
      Value largest = b.U32(0);
      for (uint32_t k = 0; k < 8; ++k)
        largest = b.Max(largest, b.Bitcast(kU32, values[2 * block + k / 4][k % 4]) & 0x7FFFFFFF);
      scale[block] = b.Let("scale", b.Bitcast(kF32, RowMax(b, b.Let("lane_largest", largest))) / b.F32(127));
      const Value inverse =
          b.Let("inverse", b.Select(b.F32(kQa8SmallestScale) <= scale[block], b.F32(1) / scale[block], b.F32(0)));
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t j = 2 * block + half;
        Value word = b.U32(0), sum = b.I32(0);
        for (uint32_t i = 0; i < 4; ++i) {
          const Value code = b.Let("code", b.Cast(kI32, b.Round(values[j][i] * inverse)));
          word = word | (b.Bitcast(kU32, code) & 255) << (8 * i);
          sum = sum + code;
        }
        words[j] = b.Let("word", word);
        sums[j] = RowSum(b, b.Let("lane_sum", sum));
      }
    }
    const Value plane = b.Let("plane", b.Wide(row_tile) * b.Wide(pairs) + b.Wide(pair));
    b.Store(q, plane * 512 + b.Wide(b.Lane() * 16), b.Vector({words[0], words[1], words[2], words[3]}));
    b.If(t == 0, Uniform::kThread, [&] {
      b.Store(scales, plane * 64 + b.Wide(g * 8), b.Vector({scale[0], scale[1]}));
      b.Store(isum, plane * 128 + b.Wide(g * 16), b.Vector({sums[0], sums[1], sums[2], sums[3]}));
    });
  });
  return Named(std::move(b).Finish(b.DivideUp(warps_needed, s.warps)), d, s);
}

}  // namespace quern::kernels::ir::gen
