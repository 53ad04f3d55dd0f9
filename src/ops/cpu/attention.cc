#include "ops/cpu/attention.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/cpu/attention_kernels.h"
#include "tensor/half.h"

namespace quern::ops::cpu {
namespace {

int HeadsPerItem(const AttentionArgs& args) {
  const int group = args.num_heads / args.group.num_kv_heads;
  return args.heads_per_item == 0 ? group : std::min(args.heads_per_item, group);
}

int64_t RowTiles(int64_t rows) { return (rows + kAttentionRowTile - 1) / kAttentionRowTile; }

int ElementBytes(DType dtype) { return InfoOf(dtype).block_bytes; }

AttentionScratch CutScratch(float* scratch, int max_queries, int head_dim) {
  const int padded = PaddedQueries(max_queries);
  const auto take = [&scratch](int64_t floats) {
    float* part = scratch;
    scratch += floats;
    return part;
  };
  AttentionScratch s;
  s.keys = take(int64_t{kKeyTile} * head_dim);
  s.scores = take(int64_t{kChunk} * padded);
  s.chunk_out = take(int64_t{max_queries} * head_dim);
  s.total_out = take(int64_t{max_queries} * head_dim);
  for (float** part : {&s.chunk_max, &s.chunk_sum, &s.total_max, &s.total_sum, &s.old_factor, &s.new_factor}) {
    *part = take(padded);
  }
  return s;
}

}  // namespace

int64_t NumAttentionItems(const AttentionArgs& args) {
  const int group = args.num_heads / args.group.num_kv_heads, heads = HeadsPerItem(args);
  return RowTiles(static_cast<int64_t>(args.positions.size())) * args.group.num_kv_heads *
         ((group + heads - 1) / heads);
}

int AttentionHeadsPerItem(int64_t rows, int num_heads, int num_kv_heads, int num_threads) {
  const int group = num_heads / num_kv_heads;
  int heads = group;
  while (heads > 1 && RowTiles(rows) * num_kv_heads * ((group + heads - 1) / heads) < num_threads)
    heads = (heads + 1) / 2;
  return heads;
}

int64_t AttentionScratchFloats(const AttentionArgs& args) {
  const int64_t queries = int64_t{HeadsPerItem(args)} * kAttentionRowTile;
  const int64_t padded = PaddedQueries(static_cast<int>(queries));
  return args.group.head_dim * (kKeyTile + 2 * queries) + padded * (kChunk + 6);
}

void RunAttention(device::cpu::Isa isa, const AttentionArgs& args, int64_t item_begin, int64_t item_end,
                  float* scratch) {
  AttentionRunFn run_queries = AttentionRunPortable;
#if defined(QUERN_HAS_AVX2_KERNELS)
  if (isa != device::cpu::Isa::kPortable) run_queries = AttentionRunAvx2;
#endif
  const KvGroupSpec& group = args.group;
  QUERN_CHECK(group.head_dim % 8 == 0 && args.num_heads % group.num_kv_heads == 0);
  const int heads_of_kv = args.num_heads / group.num_kv_heads, heads = HeadsPerItem(args);
  const int64_t head_groups = (heads_of_kv + heads - 1) / heads;
  const int64_t head_bytes = int64_t{kPageTokens} * group.head_dim * ElementBytes(args.pool.dtype);
  const AttentionScratch parts = CutScratch(scratch, heads * kAttentionRowTile, group.head_dim);

  QueryRun run;
  run.row_stride = int64_t{args.num_heads} * group.head_dim;
  run.head_dim = group.head_dim;
  run.scale = args.scale;
  run.window = group.window;
  run.page_stride = head_bytes * group.num_kv_heads;
  run.dtype = args.pool.dtype;
  for (int64_t item = item_begin; item < item_end; ++item) {
    const int64_t kv_head = item / head_groups % group.num_kv_heads;
    const int64_t first_row = item / head_groups / group.num_kv_heads * kAttentionRowTile;
    const int64_t end_row = std::min(first_row + kAttentionRowTile, static_cast<int64_t>(args.positions.size()));
    const int64_t first_head = kv_head * heads_of_kv + item % head_groups * heads;
    run.heads = static_cast<int>(std::min<int64_t>(heads, (kv_head + 1) * heads_of_kv - first_head));
    const int64_t base = (args.slot.layer * args.pool.num_pages * group.num_kv_heads + kv_head) * head_bytes;
    run.k = args.pool.k + base;
    run.v = args.pool.v + base;
    for (int64_t row = first_row; row < end_row;) {
      int64_t stop = row + 1;
      while (stop < end_row && args.sequence_of[stop] == args.sequence_of[row]) ++stop;
      const std::span<const int32_t> pages = args.sequences[args.sequence_of[row]].tables[args.slot.group].pages;
      run.pages = pages.data();
      run.num_entries = static_cast<int64_t>(pages.size());
      run.rows = static_cast<int>(stop - row);
      run.positions = args.positions.data() + row;
      run.q = args.q + row * run.row_stride + first_head * group.head_dim;
      run.out = args.out + row * run.row_stride + first_head * group.head_dim;
      run_queries(run, parts);
      row = stop;
    }
  }
}

void StoreKvRow(const KvPoolView& pool, const KvGroupSpec& group, KvSlot slot, int32_t page, int row_in_page,
                const float* k, const float* v) {
  const int64_t bytes = ElementBytes(pool.dtype), dim = group.head_dim;
  for (int head = 0; head < group.num_kv_heads; ++head) {
    const int64_t at =
        (((slot.layer * pool.num_pages + page) * group.num_kv_heads + head) * kPageTokens + row_in_page) * dim;
    const auto store = [&](std::byte* target, const float* source) {
      target += at * bytes;
      source += head * dim;
      if (pool.dtype == DType::kF32) {
        std::memcpy(target, source, static_cast<size_t>(dim) * sizeof(float));
        return;
      }
      for (int64_t i = 0; i < dim; ++i) {
        const uint16_t value = pool.dtype == DType::kF16 ? FloatToHalf(source[i]) : FloatToBf16(source[i]);
        std::memcpy(target + 2 * i, &value, 2);
      }
    };
    store(pool.k, k);
    store(pool.v, v);
  }
}

}  // namespace quern::ops::cpu
