// Builder makes what its calls say, and the dump of a kernel names every part of it.
#include "kernels/ir/builder.h"

#include <gtest/gtest.h>

namespace quern::kernels::ir {
namespace {

// y[i] = 2 x[i] for i < rows.
Kernel Doubling() {
  Builder b({.warps = 2});
  const Value rows = b.U32Param("rows", 1, 1000);
  const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(rows) * 4);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(rows) * 4);
  const Value row = b.Let("row", b.Tile() * 64 + b.Thread());
  b.If(row < rows, Uniform::kThread, [&] {
    const Value v = b.Load("v", kF32, x, b.Wide(row) * 4);
    b.Store(y, b.Wide(row) * 4, v + v);
  });
  return std::move(b).Finish(b.DivideUp(rows, 64));
}

TEST(Builder, DumpNamesEveryPart) {
  EXPECT_EQ(Dump(Doubling()), R"(block 2 warps, min_blocks 0
param u32 rows [1, 1000] multiple_of 1
buffer read x align 16 bytes mul(cast.u64($rows), u64:0x4)
buffer write y align 16 bytes mul(cast.u64($rows), u64:0x4)
tiles div(add($rows, u32:0x3f), u32:0x40)
  %row:u32 = add(mul(tile, u32:0x40), thread)
  if thread lt(%row, $rows)
    %v:f32 = load x[mul(cast.u64(%row), u64:0x4)] if -
    store y[mul(cast.u64(%row), u64:0x4)] = add(%v, %v) if -
)");
}

TEST(Builder, NamesAreUnique) {
  Builder b({});
  b.Let("x", b.U32(1));
  b.Let("x", b.U32(2));
  b.Let("lane", b.U32(3));
  EXPECT_EQ(b.kernel().registers[0].name, "x");
  EXPECT_EQ(b.kernel().registers[1].name, "x_2");
  EXPECT_EQ(b.kernel().registers[2].name, "lane_2");
}

TEST(Builder, SharedArraysBeginAtMultiplesOf16) {
  Builder b({});
  b.AddShared("first", 20);
  const uint32_t second = b.AddShared("second", 16);
  EXPECT_EQ(b.kernel().shared_offset(second), 32u);
  EXPECT_EQ(b.kernel().shared_bytes(), 48u);
}

}  // namespace
}  // namespace quern::kernels::ir
