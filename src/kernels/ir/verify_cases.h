// Kernels for the verifier's tests: small, of the kinds that generators make, each correct unless a fault is asked for.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include "kernels/ir/builder.h"
#include "kernels/ir/verify.h"

namespace quern::kernels::ir {

enum class Fault {
  kNone,
  kNoGuard,       // the guard of the last row or column is missing
  kGuardTooWide,  // <= where < is right
  kTail,          // the tail reads one element too far
  kU32Offset,     // an offset in u32 that can reach 2^32
  kAlignment,     // an access at no multiple of its size
  kBufferAlign,   // a buffer that begins at a smaller multiple than its accesses need
  kDivergent,     // a barrier or shuffle that some threads miss
  kFalseClaim,    // a condition said to be more uniform than it is
  kTwoWriters,    // two threads write one byte
  kTwoTiles,      // two tiles write one byte
  kSmallBuffer,   // one row less is declared than is read
  kSlot,          // the ring's slot runs one too far
  kSharedSize,    // the shared array is one element short
  kOtherReads,    // another thread reads what this one writes
};

// (a) y = 2 x, four elements a thread, over [rows, K] with K any number; the last elements one by one.
inline Kernel Elementwise(Fault fault = Fault::kNone) {
  Builder b({.warps = 4});
  const Value rows = b.U32Param("rows", 1, 1 << 16), k = b.U32Param("k", 1, 1 << 15);
  const Value total = b.Wide(rows) * b.Wide(k);
  const uint32_t align = fault == Fault::kBufferAlign ? 8 : 16;
  const uint32_t x = b.AddBuffer("x", Access::kRead, total * 4, align);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, total * 4);
  const Value n = b.Let("n", total);
  const Value first =
      b.Let("first", b.Wide(b.Tile()) * 512 + b.Wide(b.Thread()) * (fault == Fault::kAlignment ? 3 : 4));
  const Value whole = fault == Fault::kTail ? first + 3 <= n : first + 4 <= n;
  b.If(
      whole, Uniform::kThread,
      [&] {
        const Value v = b.Load("v", kF32x4, x, first * 4);
        std::vector<Value> out;
        for (uint32_t i = 0; i < 4; ++i) out.push_back(b.Extract(v, i) * b.F32(2));
        b.Store(y, first * 4, b.Vector(out));
      },
      [&] {
        b.For("i", b.U32(0), b.U32(4), {}, [&](Value i) {
          const Value at = b.Let("at", first + b.Wide(i));
          const auto one = [&] { b.Store(y, at * 4, b.Load("one", kF32, x, at * 4) * b.F32(2)); };
          if (fault == Fault::kNoGuard) return one();
          b.If(fault == Fault::kGuardTooWide ? at <= n : at < n, Uniform::kThread, one);
        });
      });
  // 2^31 elements at most: the number of tiles fits u32.
  return std::move(b).Finish(b.Cast(kU32, (total + 511) / 512));
}

// (b) One block per row: the row divided by its norm.
inline Kernel RowNorm(Fault fault = Fault::kNone) {
  constexpr uint32_t kWarps = 4;
  Builder b({.warps = kWarps});
  const Value rows = b.U32Param("rows", 1, 4096), k = b.U32Param("k", 4, 32768, 4);
  const Value bytes = b.Wide(rows) * b.Wide(k) * 4;
  const uint32_t x = b.AddBuffer("x", Access::kRead, bytes), y = b.AddBuffer("y", Access::kWrite, bytes);
  const uint32_t sums = b.AddShared("sums", kWarps * 4);
  const Value row_at = b.Let("row_at", b.Wide(b.Tile()) * b.Wide(k) * 4);
  const Reg sum = b.Declare("sum", kF32);
  b.Set(sum, b.F32(0));
  const auto each = [&](const auto& body) {
    b.For("i", b.U32(0), b.DivideUp(k, kWarps * 128), {}, [&](Value i) {
      const Value at = b.Let("at", i * (kWarps * 128) + b.Thread() * 4);
      b.If(fault == Fault::kGuardTooWide ? at <= k : at < k, Uniform::kThread, [&] { body(at); });
    });
  };
  each([&](Value at) {
    const Value v = b.Load("v", kF32x4, x, row_at + b.Wide(at) * 4);
    for (uint32_t i = 0; i < 4; ++i) b.Set(sum, b.Fma(b.Extract(v, i), b.Extract(v, i), sum));
  });
  const Value warp_sum = b.WarpReduce("warp_sum", sum, [](Value p, Value q) { return p + q; });
  b.If(b.Lane() == 0, Uniform::kThread, [&] {
    b.StoreShared(sums, (fault == Fault::kSharedSize ? b.Warp() + 1 : b.Warp()) * 4, warp_sum);
    if (fault == Fault::kDivergent) b.Barrier();
  });
  b.Barrier();
  const Reg total = b.Declare("total", kF32);
  b.Set(total, b.F32(0));
  b.For("w", b.U32(0), b.U32(kWarps), {.unroll = 4},
        [&](Value w) { b.Set(total, total + b.LoadShared("part", kF32, sums, w * 4)); });
  const Value scale = b.Let("scale", b.F32(1) / b.Sqrt(Value(total) / b.Cast(kF32, k)));
  each([&](Value at) {
    const Value v = b.Load("u", kF32x4, x, row_at + b.Wide(at) * 4);
    std::vector<Value> out;
    for (uint32_t i = 0; i < 4; ++i) out.push_back(b.Extract(v, i) * scale);
    b.Store(y, (fault == Fault::kTwoTiles ? b.Wide(b.Tile() / 2) * b.Wide(k) * 4 : row_at) + b.Wide(at) * 4,
            b.Vector(out));
  });
  return std::move(b).Finish(rows);
}

// (c) y = W x for weights in the file's layout: [N][K / 32 blocks][18 bytes], one warp for an output row.
inline Kernel QuantVector(Fault fault = Fault::kNone) {
  constexpr uint32_t kWarps = 4;
  Builder b({.warps = kWarps});
  const Value n = b.U32Param("n", 1, 1 << 18), kb = b.U32Param("kb", 1, 1 << 11);
  const Value rows = fault == Fault::kSmallBuffer ? b.Wide(n - 1) : b.Wide(n);
  const uint32_t w = b.AddBuffer("w", Access::kRead, rows * b.Wide(kb) * 18, 2);
  const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(kb) * 64);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(n) * 4);
  const Value row = b.Let("row", b.Tile() * kWarps + b.Warp());
  const auto body = [&] {
    const Reg acc = b.Declare("acc", kF32);
    b.Set(acc, b.F32(0));
    b.For("it", b.U32(0), b.DivideUp(kb, 8), {}, [&](Value it) {
      const Value block = b.Let("b", it * 8 + b.Lane() / 4), t = b.Let("t", b.Lane() % 4);
      const auto products = [&] {
        const Value base = fault == Fault::kU32Offset ? b.Wide((row * kb + block) * 18)
                                                      : b.Wide(row) * b.Wide(kb) * 18 + b.Wide(block) * 18;
        const Value at = b.Let("at", base + b.Wide(t) * 4);
        const uint32_t skip = fault == Fault::kAlignment ? 3 : 2;
        const Value low = b.Load("low", kU16, w, at + b.U64(skip));
        const Value high = b.Load("high", kU16, w, at + b.U64(fault == Fault::kTail ? 6 : 4));
        const Value d = b.Cast(kF32, b.Load("d", kF16, w, base));
        const Value v = b.Load("v", kF32x4, x, b.Wide(block) * 64 + b.Wide(t) * 16);
        const Value word = b.Let("word", b.Cast(kU32, low) | b.Cast(kU32, high) << 16);
        b.Set(acc, b.Fma(d * b.Cast(kF32, word & 15), b.Extract(v, 0), acc));
        if (fault == Fault::kDivergent) b.Set(acc, b.ShuffleXor("early", acc, 1));
      };
      if (fault == Fault::kNoGuard) return products();
      b.If(block < kb, fault == Fault::kFalseClaim ? Uniform::kWarp : Uniform::kThread, products);
    });
    const Value sum = b.WarpReduce("sum", acc, [](Value p, Value q) { return p + q; });
    if (fault == Fault::kTwoWriters) return b.Store(y, b.Wide(row) * 4, sum);
    b.If(b.Lane() == 0, Uniform::kThread, [&] { b.Store(y, b.Wide(row) * 4, sum); });
  };
  b.If(row < n, Uniform::kWarp, body);
  return std::move(b).Finish(b.DivideUp(n, kWarps));
}

// (d) A panel of 16 rows for each tile; its blocks of 288 bytes run through a ring of each warp, warps share the K
// dimension and combine in shared memory.
inline Kernel Panel(Fault fault = Fault::kNone) {
  constexpr uint32_t kWarps = 8, kStages = 3, kBlock = 288, kRows = 8;
  Builder b({.warps = kWarps});
  const Value n = b.U32Param("n", 1, 1 << 20), kb = b.U32Param("kb", 1, 1 << 12), rows = b.U32Param("rows", 1, kRows);
  const Value panels = b.DivideUp(n, 16);
  const uint32_t w = b.AddBuffer("w", Access::kRead, b.Wide(panels) * b.Wide(kb) * kBlock);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(rows) * b.Wide(n) * 4);
  const uint32_t ring = b.AddShared("ring", kWarps * kStages * kBlock - (fault == Fault::kSharedSize ? 16 : 0));
  const uint32_t sums = b.AddShared("sums", kWarps * 128 * 4);
  const Value panel_at = b.Let("panel_at", b.Wide(b.Tile()) * b.Wide(kb) * kBlock);
  const Value ring_at = b.Let("ring_at", b.Warp() * (kStages * kBlock));
  const Reg slot = b.Declare("slot", kU32);
  b.Set(slot, b.U32(0));
  const Reg acc = b.Declare("acc", kU32);
  b.Set(acc, b.U32(0));
  const auto next = [&](Value s) {
    return b.Select(s == (fault == Fault::kSlot ? kStages : kStages - 1), b.U32(0), s + 1);
  };
  b.For("it", b.U32(0), b.DivideUp(kb, kWarps), {.unroll = 1}, [&](Value it) {
    const Value block = b.Let("block", it * kWarps + b.Warp());
    const Value exists = fault == Fault::kGuardTooWide ? block <= kb : block < kb;
    b.If(b.Lane() < 18, Uniform::kThread, [&] {
      b.AsyncCopy(ring, ring_at + Value(slot) * kBlock + b.Lane() * 16, w,
                  panel_at + b.Wide(block) * kBlock + b.Wide(b.Lane()) * 16,
                  fault == Fault::kNoGuard ? Value{} : exists);
    });
    b.AsyncCommit();
    b.AsyncWait(0);
    b.WarpSync();
    const Value v = b.LoadShared("v", kU32x2, ring, ring_at + Value(slot) * kBlock + 32 + b.Lane() * 8);
    b.Set(acc, Value(acc) + b.Extract(v, 0) * b.Extract(v, 1));
    b.Set(slot, next(slot));
    b.WarpSync();
  });
  for (uint32_t i = 0; i < 4; ++i)
    b.StoreShared(sums, b.Warp() * 512 + b.Lane() * 4 + i * 128, b.Cast(kF32, Value(acc) + i));
  b.Barrier();
  const auto combine = [&] {
    const Reg total = b.Declare("total", kF32);
    b.Set(total, b.F32(0));
    for (uint32_t from = 0; from < kWarps; ++from)
      b.Set(total, total + b.LoadShared("part", kF32, sums, b.Thread() * 4 + from * 512));
    const Value r = b.Let("r", b.Thread() / 16), i = b.Let("i", b.Thread() % 16);
    const Value row = b.Let("row", b.Tile() * 16 + i);
    b.If((r < rows) & (row < n), Uniform::kThread,
         [&] { b.Store(y, (b.Wide(r) * b.Wide(n) + b.Wide(row)) * 4, total); });
  };
  if (fault == Fault::kTwoWriters) {
    combine();
  } else {
    b.If(b.Thread() < 128, Uniform::kThread, combine);
  }
  return std::move(b).Finish(panels);
}

// (e) Rows of a table of experts, chosen by ids in memory.
inline Kernel Gather(Fault fault = Fault::kNone) {
  Builder b({.warps = 1});
  const Value rows = b.U32Param("rows", 1, 65536), experts = b.U32Param("experts", 1, 512),
              k = b.U32Param("k", 4, 16384, 4);
  const uint32_t ids = b.AddBuffer("ids", Access::kRead, b.Wide(rows) * 4);
  const uint32_t table = b.AddBuffer("table", Access::kRead, b.Wide(experts) * b.Wide(k) * 4);
  const uint32_t y = b.AddBuffer("y", Access::kWrite, b.Wide(rows) * b.Wide(k) * 4);
  const Value id = b.Load("id", kU32, ids, b.Wide(b.Tile()) * 4);
  b.For("i", b.U32(0), b.DivideUp(k, 128), {}, [&](Value i) {
    const Value at = b.Let("at", i * 128 + b.Lane() * 4);
    b.If(at < k, Uniform::kThread, [&] {
      const auto copy = [&] {
        const Value from = fault == Fault::kU32Offset ? b.Wide(b.Let("from", id * k * 1024 + at))
                                                      : b.Wide(id) * b.Wide(k) + b.Wide(at);
        const Value v = b.Load("v", kF32x4, table, from * 4);
        b.Store(y, (b.Wide(b.Tile()) * b.Wide(k) + b.Wide(at)) * 4, v);
      };
      if (fault == Fault::kNoGuard) return copy();
      b.If(fault == Fault::kGuardTooWide ? id <= experts : id < experts, Uniform::kThread, copy);
    });
  });
  return std::move(b).Finish(rows);
}

// (f) Tiles of 8 rows and 32 columns, numbered along a row of tiles; y = y + 1 in place.
inline Kernel TwoDimensional(Fault fault = Fault::kNone) {
  Builder b({.warps = 8});
  const Value rows = b.U32Param("rows", 1, 1 << 14), columns = b.U32Param("columns", 32, 1 << 16, 32);
  const Value across = columns / 32, down = b.DivideUp(rows, 8);
  const uint32_t y = b.AddBuffer("y", Access::kReadWrite, b.Wide(rows) * b.Wide(columns) * 4);
  const Value row_tile = b.Let("row_tile", b.Tile() / across);
  const Value column_tile = b.Let("column_tile", fault == Fault::kTwoTiles ? b.Tile() % 2 % across : b.Tile() % across);
  const Value row = b.Let("row", row_tile * (fault == Fault::kTwoWriters ? 4 : 8) + b.Warp());
  const Value column = b.Let("column", column_tile * 32 + b.Lane());
  const Value at = b.Let("at", (b.Wide(row) * b.Wide(columns) + b.Wide(column)) * 4);
  const auto body = [&] {
    Value from = at;
    if (fault == Fault::kOtherReads) from = (b.Wide(row) * b.Wide(columns) + b.Wide(column_tile * 32)) * 4;
    b.Store(y, at, b.Load("v", kF32, y, from) + b.F32(1));
  };
  if (fault == Fault::kNoGuard) {
    body();
  } else {
    b.If(row < rows, Uniform::kWarp, body);
  }
  return std::move(b).Finish(across * down);
}

// The codes of all violations, "V4 V7", each once; and the whole text for messages.
inline std::string Codes(const Kernel& kernel, const Limits& limits = {}) {
  std::set<Rule> rules;
  for (const Violation& v : Verify(kernel, limits)) rules.insert(v.rule);
  std::string text;
  for (const Rule rule : rules) text += (text.empty() ? "" : " ") + std::string(CodeOf(rule));
  return text;
}
inline std::string Explain(const Kernel& kernel) {
  std::string text;
  for (const Violation& v : Verify(kernel))
    text += std::string(CodeOf(v.rule)) + " " + v.where + ": " + v.message + "\n";
  return text + Dump(kernel);
}

}  // namespace quern::kernels::ir
