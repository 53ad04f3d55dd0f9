// Kernels of the kinds that generators make, for the tests of the verifier. Each takes the faults that a test plants:
// with none, the kernel is right.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/ir/builder.h"
#include "kernels/ir/verify.h"

namespace quern::kernels::ir {

// The codes that Verify reports, and what it said, for the message of a failed test.
inline std::set<std::string> CodesOf(const Kernel& kernel, std::string* text = nullptr, const Limits& limits = {}) {
  std::set<std::string> codes;
  for (const Violation& v : Verify(kernel, limits)) {
    codes.insert(std::string(CodeOf(v.rule)));
    if (text != nullptr) *text += std::string(CodeOf(v.rule)) + " at " + v.where + ": " + v.message + "\n";
  }
  return codes;
}

#define EXPECT_CODES(kernel, ...)                            \
  do {                                                       \
    std::string spoken;                                      \
    const std::set<std::string> expected{__VA_ARGS__};       \
    EXPECT_EQ(CodesOf(kernel, &spoken), expected) << spoken; \
  } while (false)
#define EXPECT_ACCEPTED(kernel) EXPECT_CODES(kernel, )

// (a) y[r, k] = x[r, k] + 1 over [rows, K]: one block of 64 threads per row, with a tail.
struct ElementwiseFaults {
  bool no_guard = false, off_by_one = false, narrow = false, same_byte = false, wrong_row = false;
  uint32_t max_rows = 1 << 17, max_k = 1 << 14, align = 16;
};
inline Kernel Elementwise(const ElementwiseFaults& f = {}) {
  Builder b({.warps = 2});
  const Value rows = b.U32Param("rows", 1, f.max_rows);
  const Value k = b.U32Param("k", 1, f.max_k);
  const Value bytes = b.Wide(rows) * b.Wide(k) * 4;
  const uint32_t x = b.AddBuffer("x", Access::kRead, bytes, f.align), y = b.AddBuffer("y", Access::kWrite, bytes);
  b.For("it", b.U32(0), b.DivideUp(k, 64), {}, [&](Value it) {
    const Value col = b.Let("col", it * 64 + b.Thread());
    const Value limit = f.off_by_one ? k + 1 : k;
    const auto body = [&] {
      const Value row = f.wrong_row ? b.Tile() + 1 : b.Tile();
      const Value at =
          f.narrow ? b.Wide((row * k + col) * 4) : b.Let("at", (b.Wide(row) * b.Wide(k) + b.Wide(col)) * 4);
      const Value v = b.Load("v", kF32, x, at);
      b.Store(y, f.same_byte ? b.Wide(col) * 4 : at, v + b.F32(1));
    };
    if (f.no_guard)
      body();
    else
      b.If(col < limit, Uniform::kThread, body);
  });
  return std::move(b).Finish(rows);
}

// (b) One block of 128 threads per row; the sum of squares goes through shared memory.
struct NormFaults {
  bool divergent_barrier = false, claims_block = false, small_shared = false, misaligned = false;
};
inline Kernel Norm(const NormFaults& f = {}) {
  Builder b({.warps = 4});
  const Value rows = b.U32Param("rows", 1, 1 << 20);
  const Value k4 = b.U32Param("k4", 1, 1 << 12);  // columns / 4
  const Value eps = b.F32Param("eps");
  const Value bytes = b.Wide(rows) * b.Wide(k4) * 16;
  const uint32_t x = b.AddBuffer("x", Access::kRead, bytes), y = b.AddBuffer("y", Access::kWrite, bytes);
  const uint32_t sums = b.AddShared("sums", f.small_shared ? 0 : 16);
  const Value base = b.Let("base", b.Wide(b.Tile()) * b.Wide(k4) * 16);
  const Reg sum = b.Declare("sum", kF32);
  b.Set(sum, b.F32(0));
  const auto at = [&](Value i) { return base + b.Wide(i) * 16 + (f.misaligned ? 4 : 0); };
  b.For("i", b.Thread(), k4, {.step = 128, .uniform = Uniform::kThread}, [&](Value i) {
    const Value v = f.misaligned ? b.Load("v", kF32x4, x, at(i), i + 1 < k4) : b.Load("v", kF32x4, x, at(i));
    for (uint32_t e = 0; e < 4; ++e) b.Set(sum, b.Fma(b.Extract(v, e), b.Extract(v, e), sum));
  });
  const Value warp_sum = b.WarpReduce("warp_sum", sum, [&](Value a, Value c) { return a + c; });
  b.If(b.Lane() == 0, Uniform::kThread, [&] {
    b.StoreShared(sums, b.Warp() * 4, warp_sum);
    if (f.divergent_barrier) b.Barrier();
  });
  b.Barrier();
  const Reg total = b.Declare("total", kF32);
  b.Set(total, eps);
  for (uint32_t w = 0; w < 4; ++w) b.Set(total, total + b.LoadShared("part", kF32, sums, b.U32(4 * w)));
  const Value scale = b.Let("scale", b.F32(1) / b.Sqrt(total));
  const Uniform claim = f.claims_block ? Uniform::kBlock : Uniform::kThread;
  b.For("j", b.Thread(), k4, {.step = 128, .uniform = claim}, [&](Value j) {
    const Value at_j = b.Let("at", base + b.Wide(j) * 16);
    const Value v = b.Load("v", kF32x4, x, at_j);
    std::vector<Value> scaled;
    for (uint32_t e = 0; e < 4; ++e) scaled.push_back(b.Extract(v, e) * scale);
    b.Store(y, at_j, b.Vector(scaled));
  });
  return std::move(b).Finish(rows);
}

// (c) Quantised matrix-vector product in file layout: [N][kb blocks][18 bytes], one warp per output row.
struct MatVecFaults {
  bool no_row_guard = false, no_block_guard = false, narrow = false, all_lanes_store = false, odd = false,
       short_blocks = false, thread_claim = false;
};
inline Kernel MatVec(const MatVecFaults& f = {}) {
  Builder b({.warps = 4});
  const Value n = b.U32Param("n", 1, 1 << 18);
  const Value kb = b.U32Param("kb", 1, 1 << 11);
  const uint32_t block_bytes = f.short_blocks ? 17 : 18;
  const uint32_t w = b.AddBuffer("w", Access::kRead, b.Wide(n) * b.Wide(kb) * block_bytes);
  const uint32_t q = b.AddBuffer("q", Access::kRead, b.Wide(kb) * 32),
                 y = b.AddBuffer("y", Access::kWrite, b.Wide(n) * 4);
  const Value row = b.Let("row", b.Tile() * 4 + b.Warp());
  const auto body = [&] {
    const Reg sum = b.Declare("sum", kF32);
    b.Set(sum, b.F32(0));
    const Value base = f.narrow ? b.Let("base", b.Wide(row * kb * 18)) : b.Let("base", b.Wide(row) * b.Wide(kb) * 18);
    b.For("it", b.U32(0), b.DivideUp(kb, 8), {}, [&](Value it) {
      const Value block = b.Let("block", it * 8 + b.Lane() / 4);
      const auto inner = [&] {
        const Value part = b.Let("part", b.Lane() % 4);
        const Value codes = b.Let("codes", base + b.Wide(block) * 18 + (f.odd ? 1 : 2) + b.Wide(part) * 4);
        const Value low = b.Load("low", kU16, w, codes, {}, Cache::kStream);
        const Value high = b.Load("high", kU16, w, codes + 2, {}, Cache::kStream);
        const Value d = b.Cast(kF32, b.Load("d", kF16, w, base + b.Wide(block) * 18));
        const Value a = b.Load("a", kU32, q, b.Wide(block) * 32 + b.Wide(part) * 4);
        const Value bits = b.Let("bits", b.Cast(kU32, low) | b.Cast(kU32, high) << 16);
        const Value dot = b.DotUS(bits & 0x0F0F0F0F, a, b.I32(0));
        b.Set(sum, b.Fma(b.Cast(kF32, dot), d, sum));
      };
      if (f.no_block_guard)
        inner();
      else
        b.If(block < kb, Uniform::kThread, inner);
    });
    const Value total = b.WarpReduce("total", sum, [&](Value s, Value t) { return s + t; });
    if (f.all_lanes_store)
      b.Store(y, b.Wide(row) * 4, total);
    else
      b.Store(y, b.Wide(row) * 4, total, b.Lane() == 0);
  };
  if (f.no_row_guard)
    body();
  else
    b.If(row < n, f.thread_claim ? Uniform::kThread : Uniform::kWarp, body);
  return std::move(b).Finish(b.DivideUp(n, 4));
}

// (d) A panel of 16 rows per tile, units spread over 4 warps, partial sums combined in shared memory.
struct PanelFaults {
  bool no_row_guard = false, no_batch_guard = false, half_shared = false, swapped = false, warp_barrier = false,
       narrow = false, more_threads = false;
};
inline Kernel Panel(const PanelFaults& f = {}) {
  Builder b({.warps = 4});
  const Value n = b.U32Param("n", 1, 1 << 18), rows = b.U32Param("rows", 1, 8), units = b.U32Param("units", 1, 1 << 11);
  const Value panels = b.DivideUp(n, 16);
  const uint32_t w = b.AddBuffer("w", Access::kRead, b.Wide(panels) * b.Wide(units) * 576);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(rows) * b.Wide(n) * 4);
  const uint32_t sums = b.AddShared("sums", f.half_shared ? 1024 : 2048);
  const Reg acc = b.Declare("acc", kF32x4);
  b.Set(acc, b.Vector({b.F32(0), b.F32(0), b.F32(0), b.F32(0)}));
  const Value panel = f.narrow ? b.Wide(b.Tile() * units * 576) : b.Wide(b.Tile()) * b.Wide(units * 576);
  const Value base = b.Let("base", panel);
  b.For("u", b.Warp(), units, {.step = 4, .uniform = Uniform::kWarp}, [&](Value u) {
    const Value codes = b.Load("codes", kU32x4, w, base + b.Wide(u * 576) + b.Wide(b.Lane()) * 16, {}, Cache::kStream);
    const Value one = b.Cast(kF32, b.Extract(codes, 0));
    b.Set(acc, b.Vector({b.Extract(acc, 0) + one, b.Extract(acc, 1) + one, b.Extract(acc, 2), b.Extract(acc, 3)}));
    if (f.warp_barrier) b.Barrier();
  });
  b.StoreShared(sums, (b.Warp() * 32 + b.Lane()) * 16, acc);
  b.Barrier();
  const Value batch = b.Let("batch", b.Thread() / 16), r = b.Let("r", b.Thread() % 16);
  const Value row = b.Let("row", b.Tile() * 16 + r);
  const Value in_batch = f.no_batch_guard ? b.Pred(true) : batch < rows,
              in_row = f.no_row_guard ? b.Pred(true) : row < n;
  b.If(in_batch & in_row, Uniform::kThread, [&] {
    const Reg total = b.Declare("total", kF32);
    b.Set(total, b.F32(0));
    b.For("part", b.U32(0), b.U32(4), {.unroll = 0},
          [&](Value part) { b.Set(total, total + b.LoadShared("v", kF32, sums, part * 512 + b.Thread() * 4)); });
    const Value at = f.swapped ? b.Wide(batch) * 4 + b.Wide(row) * 4 : (b.Wide(batch) * b.Wide(n) + b.Wide(row)) * 4;
    b.Store(y, at, total);
  });
  return std::move(b).Finish(panels);
}

// (e) y[t] = table[ids[t], lane]: ids come from memory.
struct GatherFaults {
  bool trusts_id = false, clamps = false, clamps_late = false, narrow = false;
};
inline Kernel Gather(const GatherFaults& f = {}) {
  Builder b({.warps = 1});
  const Value tokens = b.U32Param("tokens", 1, 1 << 16), experts = b.U32Param("experts", 1, 1 << 20);
  const Value width = b.U32Param("width", 32, 1 << 13, 32);
  const uint32_t ids = b.AddBuffer("ids", Access::kRead, b.Wide(tokens) * 4);
  const uint32_t table = b.AddBuffer("table", Access::kRead, b.Wide(experts) * b.Wide(width) * 2);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(tokens) * b.Wide(width) * 4);
  const Value loaded = b.Load("loaded", kU32, ids, b.Wide(b.Tile()) * 4);
  const Value id = f.clamps ? b.Let("id", b.Min(loaded, experts - (f.clamps_late ? 0 : 1))) : loaded;
  const auto body = [&] {
    b.For("it", b.U32(0), width / 32, {}, [&](Value it) {
      const Value col = b.Let("col", it * 32 + b.Lane());
      const Value at = f.narrow ? b.Wide((id * width + col) * 2) : (b.Wide(id) * b.Wide(width) + b.Wide(col)) * 2;
      const Value v = b.Load("v", kBF16, table, at);
      b.Store(y, (b.Wide(b.Tile()) * b.Wide(width) + b.Wide(col)) * 4, b.Cast(kF32, v));
    });
  };
  if (f.trusts_id || f.clamps)
    body();
  else
    b.If(id < experts, Uniform::kBlock, body);
  return std::move(b).Finish(tokens);
}

// (f) Tile -> (row tile, column tile) by a parameter: 4 rows (one a warp) and 32 columns each.
struct TiledFaults {
  bool no_row_guard = false, swapped = false, rows_as_columns = false, zero_columns = false;
};
inline Kernel Tiled(const TiledFaults& f = {}) {
  Builder b({.warps = 4});
  const Value rows = b.U32Param("rows", 1, 1 << 14), columns = b.U32Param("columns", f.zero_columns ? 0 : 1, 1 << 12);
  const Value bytes = b.Wide(rows) * b.Wide(columns) * 128;
  const uint32_t x = b.AddBuffer("x", Access::kRead, bytes), y = b.AddBuffer("y", Access::kWrite, bytes);
  const Value row_tile = b.Let("row_tile", f.swapped ? b.Tile() % columns : b.Tile() / columns);
  const Value column_tile = b.Let("column_tile", f.swapped ? b.Tile() / columns : b.Tile() % columns);
  const Value row = b.Let("row", row_tile * 4 + b.Warp());
  const auto body = [&] {
    const Value stride = f.rows_as_columns ? b.Wide(rows) : b.Wide(columns);
    const Value at = b.Let("at", (b.Wide(row) * stride + b.Wide(column_tile)) * 128 + b.Wide(b.Lane()) * 4);
    b.Store(y, at, b.Load("v", kF32, x, at) * b.F32(2));
  };
  if (f.no_row_guard)
    body();
  else
    b.If(row < rows, Uniform::kWarp, body);
  return std::move(b).Finish(b.DivideUp(rows, 4) * columns);
}

}  // namespace quern::kernels::ir
