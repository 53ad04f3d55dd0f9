// The body of attention on F32x8. Compiled once per instruction set, by attention_<isa>.cc, which includes its
// vector_*-inl.h first.
//
// Loops: chunk of 128 positions; tile of 16 keys, made f32 once; groups of up to four queries against the tile. Eight
// accumulators are open at a time, as queries x keys for the scores and as queries x vectors of dims for the output.
#pragma once

#include "ops/cpu/attention_kernels.h"
#include "ops/cpu/vector_math-inl.h"

namespace quern::ops::cpu {
namespace {

constexpr float kLowest = -__builtin_inff();

inline int64_t Smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t Larger(int64_t a, int64_t b) { return a > b ? a : b; }

// First position that a query at `position` sees.
inline int64_t FirstVisible(const QueryRun& run, int64_t position) {
  return run.window > 0 ? Larger(0, position - run.window + 1) : 0;
}

inline const float* QueryOf(const QueryRun& run, int query) {
  return run.q + query / run.heads * run.row_stride + int64_t{query % run.heads} * run.head_dim;
}

// Rows [position, position + count) of K or V as f32 [count, Dh]; they lie in one page. F32 caches are read in place.
inline const float* LoadTile(const QueryRun& run, const std::byte* pool, int64_t position, int64_t count,
                             float* buffer) {
  const int32_t page = run.pages[position / kPageTokens % run.num_entries];
  const std::byte* rows = pool + page * run.page_stride;
  const int64_t at = position % kPageTokens * run.head_dim, size = count * run.head_dim;
  if (run.dtype == DType::kF32) return reinterpret_cast<const float*>(rows) + at;
  const uint16_t* source = reinterpret_cast<const uint16_t*>(rows) + at;
  if (run.dtype == DType::kF16) {
    for (int64_t i = 0; i < size; i += 8) Store(buffer + i, LoadHalf(source + i));
  } else {
    for (int64_t i = 0; i < size; i += 8) Store(buffer + i, LoadBf16(source + i));
  }
  return buffer;
}

// Scores of kQueries queries from `query` on with keys [0, count) of a tile: scores[key * stride + query].
template <int kQueries>
inline void ScoreTile(const QueryRun& run, int query, const float* keys, int64_t count, float* scores, int64_t stride) {
  constexpr int kKeys = 8 / kQueries;
  const float* q[kQueries];
  for (int i = 0; i < kQueries; ++i) q[i] = QueryOf(run, query + i);
  for (int64_t key = 0; key < count; key += kKeys) {
    const float* k[kKeys];
    for (int j = 0; j < kKeys; ++j) k[j] = keys + Smaller(key + j, count - 1) * run.head_dim;
    F32x8 acc[8];
    for (F32x8& a : acc) a = Set(0.0f);
    for (int64_t d = 0; d < run.head_dim; d += 8) {
      for (int j = 0; j < kKeys; ++j) {
        const F32x8 kv = Load(k[j] + d);
        for (int i = 0; i < kQueries; ++i) acc[j * kQueries + i] = Fma(Load(q[i] + d), kv, acc[j * kQueries + i]);
      }
    }
    float sums[8];
    Store(sums, Mul(SumLanesOfEight(acc), Set(run.scale)));
    for (int j = 0; j < kKeys && key + j < count; ++j) {
      for (int i = 0; i < kQueries; ++i) scores[(key + j) * stride + query + i] = sums[j * kQueries + i];
    }
  }
}

// out[query + i] += sum over keys [begin, end) of the tile of p * v, one fma per key and dim.
template <int kQueries, int kVectors>
inline void AccumulateDims(const float* values, const float* p, int64_t stride, int64_t begin, int64_t end, int64_t dim,
                           int64_t d, float* out) {
  F32x8 acc[kQueries][kVectors];
  for (int i = 0; i < kQueries; ++i) {
    for (int j = 0; j < kVectors; ++j) acc[i][j] = Load(out + i * dim + d + 8 * j);
  }
  for (int64_t key = begin; key < end; ++key) {
    F32x8 v[kVectors];
    for (int j = 0; j < kVectors; ++j) v[j] = Load(values + key * dim + d + 8 * j);
    for (int i = 0; i < kQueries; ++i) {
      const F32x8 weight = Set(p[key * stride + i]);
      for (int j = 0; j < kVectors; ++j) acc[i][j] = Fma(weight, v[j], acc[i][j]);
    }
  }
  for (int i = 0; i < kQueries; ++i) {
    for (int j = 0; j < kVectors; ++j) Store(out + i * dim + d + 8 * j, acc[i][j]);
  }
}

template <int kQueries>
inline void AccumulateRange(const float* values, const float* p, int64_t stride, int64_t begin, int64_t end,
                            int64_t dim, float* out) {
  if (begin >= end) return;
  constexpr int kVectors = 8 / kQueries;
  int64_t d = 0;
  for (; d + 8 * kVectors <= dim; d += 8 * kVectors) {
    AccumulateDims<kQueries, kVectors>(values, p, stride, begin, end, dim, d, out);
  }
  for (; d < dim; d += 8) AccumulateDims<kQueries, 1>(values, p, stride, begin, end, dim, d, out);
}

// A chunk of keys, cut to what the run's rows see, and each row's part of it.
struct Chunk {
  int64_t begin = 0, end = 0;  // absolute positions; not above begin: nobody sees anything
  int64_t row_begin[kAttentionRowTile];
  int64_t row_end[kAttentionRowTile];  // not above row_begin: nothing visible
};

inline Chunk CutChunk(const QueryRun& run, int64_t chunk, int64_t first, int64_t last) {
  Chunk c;
  c.begin = Larger(chunk * kChunk, first);
  c.end = Smaller((chunk + 1) * kChunk, last + 1);
  int64_t begin = c.end, end = c.begin;
  for (int r = 0; r < run.rows; ++r) {
    c.row_begin[r] = Larger(c.begin, FirstVisible(run, run.positions[r]));
    c.row_end[r] = Smaller(c.end, int64_t{run.positions[r]} + 1);
    if (c.row_begin[r] >= c.row_end[r]) continue;
    begin = Smaller(begin, c.row_begin[r]);
    end = Larger(end, c.row_end[r]);
  }
  c.begin = begin;
  c.end = end;
  return c;
}

// Calls body(position, count, offset from the chunk's begin) for tiles that do not cross a page.
template <typename Body>
inline void ForEachTile(const Chunk& c, const Body& body) {
  for (int64_t position = c.begin; position < c.end;) {
    const int64_t end = Smaller(c.end, (position / kKeyTile + 1) * kKeyTile);
    body(position, end - position, position - c.begin);
    position = end;
  }
}

void ScoreChunk(const QueryRun& run, const Chunk& c, const AttentionScratch& s) {
  const int queries = run.rows * run.heads, stride = PaddedQueries(queries);
  ForEachTile(c, [&](int64_t position, int64_t count, int64_t offset) {
    const float* keys = LoadTile(run, run.k, position, count, s.keys);
    float* scores = s.scores + offset * stride;
    int query = 0;
    for (; query + 4 <= queries; query += 4) ScoreTile<4>(run, query, keys, count, scores, stride);
    if (query + 2 <= queries) {
      ScoreTile<2>(run, query, keys, count, scores, stride);
      query += 2;
    }
    if (query < queries) ScoreTile<1>(run, query, keys, count, scores, stride);
  });
  // Invisible keys weigh nothing; lanes without a query are kept finite.
  for (int64_t key = 0; key < c.end - c.begin; ++key) {
    float* row = s.scores + key * stride;
    for (int r = 0; r < run.rows; ++r) {
      if (c.begin + key >= c.row_begin[r] && c.begin + key < c.row_end[r]) continue;
      for (int h = 0; h < run.heads; ++h) row[r * run.heads + h] = kLowest;
    }
    for (int query = queries; query < stride; ++query) row[query] = 0.0f;
  }
}

// Scores become exp(score - max); chunk_max and chunk_sum are set. Queries lie in the lanes, so each sum runs over keys
// in increasing order; adding the zeros of invisible keys changes no bit.
void SoftmaxChunk(int64_t num_keys, int stride, const AttentionScratch& s) {
  for (int query = 0; query < stride; query += 8) {
    F32x8 largest = Set(kLowest), sum = Set(0.0f);
    for (int64_t key = 0; key < num_keys; ++key) largest = Max(largest, Load(s.scores + key * stride + query));
    for (int64_t key = 0; key < num_keys; ++key) {
      float* at = s.scores + key * stride + query;
      const F32x8 p = Exp(Sub(Load(at), largest));
      sum = Add(sum, p);
      Store(at, p);
    }
    Store(s.chunk_max + query, largest);
    Store(s.chunk_sum + query, sum);
  }
}

// chunk_out = sum of p * v over each query's visible keys. Invisible values are not touched at all: 0 * NaN is NaN.
template <int kQueries>
void AccumulateTile(const QueryRun& run, const Chunk& c, const float* values, int64_t position, int64_t count,
                    int query, const float* p, int stride, float* out) {
  int64_t begin[kQueries], end[kQueries], common_begin = 0, common_end = count;
  for (int i = 0; i < kQueries; ++i) {
    const int row = (query + i) / run.heads;
    begin[i] = Larger(0, c.row_begin[row] - position);
    end[i] = Smaller(count, c.row_end[row] - position);
    common_begin = Larger(common_begin, begin[i]);
    common_end = Smaller(common_end, end[i]);
  }
  const int64_t dim = run.head_dim;
  p += query;
  out += query * dim;
  if (common_begin >= common_end) {
    for (int i = 0; i < kQueries; ++i) AccumulateRange<1>(values, p + i, stride, begin[i], end[i], dim, out + i * dim);
    return;
  }
  for (int i = 0; i < kQueries; ++i)
    AccumulateRange<1>(values, p + i, stride, begin[i], common_begin, dim, out + i * dim);
  AccumulateRange<kQueries>(values, p, stride, common_begin, common_end, dim, out);
  for (int i = 0; i < kQueries; ++i) AccumulateRange<1>(values, p + i, stride, common_end, end[i], dim, out + i * dim);
}

void ValueChunk(const QueryRun& run, const Chunk& c, const AttentionScratch& s) {
  const int queries = run.rows * run.heads, stride = PaddedQueries(queries);
  for (int64_t i = 0; i < int64_t{queries} * run.head_dim; i += 8) Store(s.chunk_out + i, Set(0.0f));
  ForEachTile(c, [&](int64_t position, int64_t count, int64_t offset) {
    const float* values = LoadTile(run, run.v, position, count, s.keys);
    const float* p = s.scores + offset * stride;
    int query = 0;
    for (; query + 4 <= queries; query += 4) {
      AccumulateTile<4>(run, c, values, position, count, query, p, stride, s.chunk_out);
    }
    if (query + 2 <= queries) {
      AccumulateTile<2>(run, c, values, position, count, query, p, stride, s.chunk_out);
      query += 2;
    }
    if (query < queries) AccumulateTile<1>(run, c, values, position, count, query, p, stride, s.chunk_out);
  });
}

// Merges the chunk into the totals of the queries that saw any of it.
void MergeChunk(const QueryRun& run, const Chunk& c, const AttentionScratch& s) {
  const int queries = run.rows * run.heads, stride = PaddedQueries(queries);
  for (int query = 0; query < stride; query += 8) {
    const F32x8 old_max = Load(s.total_max + query), chunk_max = Load(s.chunk_max + query);
    const F32x8 merged = Max(old_max, chunk_max);
    Store(s.old_factor + query, Exp(Sub(old_max, merged)));
    Store(s.new_factor + query, Exp(Sub(chunk_max, merged)));
  }
  for (int query = 0; query < queries; ++query) {
    const int row = query / run.heads;
    if (c.row_begin[row] >= c.row_end[row]) continue;
    const float old_max = s.total_max[query], chunk_max = s.chunk_max[query];
    s.total_max[query] = old_max > chunk_max ? old_max : chunk_max;
    const F32x8 old_factor = Set(s.old_factor[query]), new_factor = Set(s.new_factor[query]);
    float sum[8];
    Store(sum, Fma(Set(s.total_sum[query]), old_factor, Mul(Set(s.chunk_sum[query]), new_factor)));
    s.total_sum[query] = sum[0];
    float* total = s.total_out + int64_t{query} * run.head_dim;
    const float* chunk = s.chunk_out + int64_t{query} * run.head_dim;
    for (int64_t d = 0; d < run.head_dim; d += 8) {
      Store(total + d, Fma(Load(total + d), old_factor, Mul(Load(chunk + d), new_factor)));
    }
  }
}

void AttendRun(const QueryRun& run, const AttentionScratch& s) {
  const int queries = run.rows * run.heads, stride = PaddedQueries(queries);
  int64_t first = FirstVisible(run, run.positions[0]), last = run.positions[0];
  for (int r = 1; r < run.rows; ++r) {
    first = Smaller(first, FirstVisible(run, run.positions[r]));
    last = Larger(last, run.positions[r]);
  }
  for (int query = 0; query < stride; ++query) {
    s.total_max[query] = kLowest;
    s.total_sum[query] = 0;
  }
  for (int64_t i = 0; i < int64_t{queries} * run.head_dim; i += 8) Store(s.total_out + i, Set(0.0f));
  for (int64_t chunk = first / kChunk; chunk <= last / kChunk; ++chunk) {
    const Chunk c = CutChunk(run, chunk, first, last);
    if (c.begin >= c.end) continue;
    ScoreChunk(run, c, s);
    SoftmaxChunk(c.end - c.begin, stride, s);
    ValueChunk(run, c, s);
    MergeChunk(run, c, s);
  }
  for (int query = 0; query < queries; ++query) {
    float* out = run.out + query / run.heads * run.row_stride + int64_t{query % run.heads} * run.head_dim;
    const float* total = s.total_out + int64_t{query} * run.head_dim;
    const F32x8 sum = Set(s.total_sum[query]);
    for (int64_t d = 0; d < run.head_dim; d += 8) Store(out + d, Div(Load(total + d), sum));
  }
}

}  // namespace
}  // namespace quern::ops::cpu
