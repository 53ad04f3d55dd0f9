// What attention.cc and the per-instruction-set bodies share. Internal to this room.
#pragma once

#include <cstdint>

#include "ops/cpu/attention.h"

namespace quern::ops::cpu {

// Consecutive rows of one sequence, times the query heads of one item: the unit that shares a pass over keys and
// values. Query i is row i / heads, head i % heads.
struct QueryRun {
  const float* q = nullptr;  // of the first row's first head
  float* out = nullptr;
  int64_t row_stride = 0;  // floats between rows of q and out
  const int32_t* positions = nullptr;
  int rows = 0;
  int heads = 0;
  int head_dim = 0;
  float scale = 1;
  int window = 0;
  const int32_t* pages = nullptr;  // the sequence's table
  int64_t num_entries = 0;
  const std::byte* k = nullptr;  // this layer's and kv head's rows of page 0
  const std::byte* v = nullptr;
  int64_t page_stride = 0;  // bytes between pages
  DType dtype = DType::kF16;
};

// Keys converted to f32 at a time; divides a page.
inline constexpr int kKeyTile = 16;
inline constexpr int kChunk = 128;

// Places in the caller's scratch.
struct AttentionScratch {
  float* keys;       // [kKeyTile, Dh]
  float* scores;     // [kChunk, padded queries]
  float* chunk_out;  // [queries, Dh]
  float* total_out;  // [queries, Dh]
  float* chunk_max;  // [padded queries], and so on
  float* chunk_sum;
  float* total_max;
  float* total_sum;
  float* old_factor;
  float* new_factor;
};

inline constexpr int PaddedQueries(int queries) { return (queries + 7) / 8 * 8; }

using AttentionRunFn = void (*)(const QueryRun& run, const AttentionScratch& scratch);
void AttentionRunPortable(const QueryRun& run, const AttentionScratch& scratch);
#if defined(QUERN_HAS_AVX2_KERNELS)
void AttentionRunAvx2(const QueryRun& run, const AttentionScratch& scratch);
#endif

}  // namespace quern::ops::cpu
