// CPU attention over the paged cache: the algorithm of AttentionOp (ops/program/program.h) for one block of work.
//
// Scores, softmax and accumulation are f32. Order: q.k as eight lanes, lane l over dims l, l + 8, ..., each fma in
// increasing order, lanes combined 4, 2, 1. Keys in chunks of 128 absolute positions: per chunk m = max, p = exp(s -
// m), l and o summed over keys in increasing order (o by fma per dim); chunks merge in increasing order:
//   m' = max(M, m);  L = L * exp(M - m') + l * exp(m - m');  O likewise;  finally O / L.
// All instruction sets agree bit for bit.
#pragma once

#include <cstdint>
#include <span>

#include "device/cpu/cpu_device.h"
#include "ops/kv_view.h"

namespace quern::ops::cpu {

struct AttentionArgs {
  const float* q = nullptr;              // [rows, H * Dh]; Dh a multiple of 8
  float* out = nullptr;                  // [rows, H * Dh], no part of q
  std::span<const int32_t> positions;    // [rows] of these query rows
  std::span<const int32_t> sequence_of;  // [rows]
  std::span<const KvSequenceView> sequences;
  KvPoolView pool;  // F16, BF16 or F32
  KvGroupSpec group;
  KvSlot slot;
  int num_heads = 0;  // H
  float scale = 1;
  // Query heads of one kv head that one work item serves; 0: all of them. Fewer make more items, which a decode step
  // with few rows and kv heads needs to occupy all threads, and read the cache once per item. The result is the same.
  int heads_per_item = 0;
};

// Work items are (row tile, kv head, group of query heads); an item covers kAttentionRowTile consecutive rows. Rows of
// one tile may belong to different sequences. The caller cuts [0, NumAttentionItems) over threads.
inline constexpr int kAttentionRowTile = 16;
int64_t NumAttentionItems(const AttentionArgs& args);
// The largest heads_per_item that still gives every thread an item, if there is one.
int AttentionHeadsPerItem(int64_t rows, int num_heads, int num_kv_heads, int num_threads);
// scratch: AttentionScratchFloats(args) floats, private to the calling thread.
int64_t AttentionScratchFloats(const AttentionArgs& args);
void RunAttention(device::cpu::Isa isa, const AttentionArgs& args, int64_t item_begin, int64_t item_end,
                  float* scratch);

// Converts one row of f32 into the cache's dtype and stores it at [slot.layer, page, head, row_in_page, :].
void StoreKvRow(const KvPoolView& pool, const KvGroupSpec& group, KvSlot slot, int32_t page, int row_in_page,
                const float* k, const float* v);

}  // namespace quern::ops::cpu
