// Attention against a direct f64 computation over caches with scattered pages, windows, rings, grouped heads and
// several sequences; bit equality of instruction sets, of cuts into items, and of batches.
#include "ops/cpu/attention.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/cpu/test_formats.h"

namespace quern::ops::cpu {
namespace {

using device::cpu::BestIsa;
using device::cpu::CpuFeatures;
using device::cpu::Isa;
using testing::RandomFloats;
using testing::SameBits;

constexpr int kLayers = 2, kLayer = 1;

struct Geometry {
  int heads = 4, kv_heads = 2, dim = 32, window = 0;
  DType dtype = DType::kF16;
};

// A cache of several sequences. Each holds positions [first, length); pages are scattered over the pool, and what no
// position wrote is NaN.
class Cache {
 public:
  struct Sequence {
    int64_t first = 0, length = 0;
    int64_t entries = 0;  // of the page table; 0: one per page
  };

  Cache(const Geometry& g, const std::vector<Sequence>& sequences) : geometry_(g) {
    group_ = {kLayers, g.kv_heads, g.dim, g.window};
    int64_t num_pages = 3;
    for (const Sequence& s : sequences) num_pages += Entries(s);
    const size_t bytes =
        static_cast<size_t>(kLayers * num_pages * g.kv_heads * kPageTokens * g.dim) * InfoOf(g.dtype).block_bytes;
    k_.assign(bytes, std::byte{0xFF});  // NaN in every dtype
    v_.assign(bytes, std::byte{0xFF});
    pool_ = {k_.data(), v_.data(), g.dtype, num_pages};
    std::vector<int32_t> free;
    for (int32_t p = 0; p < num_pages; ++p) free.push_back(p);
    std::mt19937 rng(7);
    std::shuffle(free.begin(), free.end(), rng);
    for (const Sequence& s : sequences) {
      pages_.emplace_back();
      for (int64_t i = 0; i < Entries(s); ++i) {
        pages_.back().push_back(free.back());
        free.pop_back();
      }
    }
    for (const std::vector<int32_t>& pages : pages_) tables_.push_back({pages});
    for (const KvTableView& table : tables_) views_.push_back({{&table, 1}});
    for (size_t i = 0; i < sequences.size(); ++i) Fill(static_cast<int>(i), sequences[i]);
  }

  AttentionArgs Args() const {
    AttentionArgs args;
    args.sequences = views_;
    args.pool = pool_;
    args.group = group_;
    args.slot = {0, kLayer};
    args.num_heads = geometry_.heads;
    args.scale = 0.7f;
    return args;
  }

  // Row (sequence, position) of K and V as the cache keeps it, [Hkv * Dh].
  const std::vector<double>& K(int sequence, int64_t position) const { return stored_k_.at({sequence, position}); }
  const std::vector<double>& V(int sequence, int64_t position) const { return stored_v_.at({sequence, position}); }
  const Geometry& geometry() const { return geometry_; }

 private:
  static int64_t Entries(const Sequence& s) {
    return s.entries ? s.entries : (s.length + kPageTokens - 1) / kPageTokens;
  }

  std::vector<double> AsStored(const std::vector<float>& row) const {
    std::vector<double> stored;
    for (const float v : row) {
      stored.push_back(geometry_.dtype == DType::kF32   ? v
                       : geometry_.dtype == DType::kF16 ? HalfToFloat(FloatToHalf(v))
                                                        : Bf16ToFloat(FloatToBf16(v)));
    }
    return stored;
  }

  void Fill(int sequence, const Sequence& s) {
    for (int64_t p = s.first; p < s.length; ++p) {
      const int64_t width = int64_t{geometry_.kv_heads} * geometry_.dim;
      const std::vector<float> k = RandomFloats(width, static_cast<uint32_t>(1000 * sequence + p), 0.8f);
      const std::vector<float> v = RandomFloats(width, static_cast<uint32_t>(5000007 + 1000 * sequence + p));
      const std::vector<int32_t>& pages = pages_[sequence];
      const int32_t page = pages[p / kPageTokens % static_cast<int64_t>(pages.size())];
      StoreKvRow(pool_, group_, {0, kLayer}, page, static_cast<int>(p % kPageTokens), k.data(), v.data());
      stored_k_[{sequence, p}] = AsStored(k);
      stored_v_[{sequence, p}] = AsStored(v);
    }
  }

  Geometry geometry_;
  KvGroupSpec group_;
  KvPoolView pool_;
  std::vector<std::byte> k_, v_;
  std::vector<std::vector<int32_t>> pages_;
  std::vector<KvTableView> tables_;
  std::vector<KvSequenceView> views_;
  std::map<std::pair<int, int64_t>, std::vector<double>> stored_k_, stored_v_;
};

struct Rows {
  std::vector<int32_t> sequence, position;
  std::vector<float> q;
};

Rows MakeRows(const Geometry& g, const std::vector<std::pair<int, int64_t>>& rows) {
  Rows result;
  for (const auto& [sequence, position] : rows) {
    result.sequence.push_back(sequence);
    result.position.push_back(static_cast<int32_t>(position));
    const std::vector<float> q =
        RandomFloats(int64_t{g.heads} * g.dim, static_cast<uint32_t>(sequence * 131 + position), 0.8f);
    result.q.insert(result.q.end(), q.begin(), q.end());
  }
  return result;
}

std::vector<float> Attend(Isa isa, const Cache& cache, const Rows& rows, int heads_per_item = 0,
                          bool reversed = false) {
  AttentionArgs args = cache.Args();
  std::vector<float> out(rows.q.size(), -99.0f);
  args.q = rows.q.data();
  args.out = out.data();
  args.positions = rows.position;
  args.sequence_of = rows.sequence;
  args.heads_per_item = heads_per_item;
  std::vector<float> scratch(static_cast<size_t>(AttentionScratchFloats(args)),
                             std::numeric_limits<float>::quiet_NaN());
  const int64_t items = NumAttentionItems(args);
  for (int64_t i = 0; i < items; ++i) {
    const int64_t item = reversed ? items - 1 - i : i;
    RunAttention(isa, args, item, item + 1, scratch.data());
  }
  return out;
}

// Everything in f64. The error of the f32 computation: scores are sums of dim products (relative 2^-24 each along a
// lane of dim / 8), their magnitude here is below 30, and exp makes an absolute error of the score a relative one of
// the weight.
void ExpectMatchesF64(const Cache& cache, const Rows& rows, const std::vector<float>& out) {
  constexpr double kTolerance = 2e-5;
  const Geometry& g = cache.geometry();
  for (size_t row = 0; row < rows.position.size(); ++row) {
    const int64_t position = rows.position[row];
    const int64_t first = g.window > 0 ? std::max<int64_t>(0, position - g.window + 1) : 0;
    for (int head = 0; head < g.heads; ++head) {
      const int kv = head / (g.heads / g.kv_heads);
      const float* q = rows.q.data() + (row * g.heads + head) * g.dim;
      std::vector<double> scores;
      double largest = -1e300, sum = 0;
      for (int64_t p = first; p <= position; ++p) {
        const std::vector<double>& k = cache.K(rows.sequence[row], p);
        double dot = 0;
        for (int d = 0; d < g.dim; ++d) dot += q[d] * k[kv * g.dim + d];
        scores.push_back(dot * 0.7f);
        largest = std::max(largest, scores.back());
      }
      std::vector<double> expected(g.dim, 0.0);
      for (int64_t p = first; p <= position; ++p) {
        const double weight = std::exp(scores[p - first] - largest);
        sum += weight;
        const std::vector<double>& v = cache.V(rows.sequence[row], p);
        for (int d = 0; d < g.dim; ++d) expected[d] += weight * v[kv * g.dim + d];
      }
      for (int d = 0; d < g.dim; ++d) {
        ASSERT_NEAR(out[(row * g.heads + head) * g.dim + d], expected[d] / sum, kTolerance)
            << "row " << row << " position " << position << " head " << head << " dim " << d;
      }
    }
  }
}

void ExpectAllAgree(const Cache& cache, const Rows& rows) {
  const std::vector<float> reference = Attend(Isa::kPortable, cache, rows);
  ExpectMatchesF64(cache, rows, reference);
  const Isa best = BestIsa(CpuFeatures::Host());
  for (const int heads : {0, 1, 2, 3}) {
    const std::vector<float> out = Attend(best, cache, rows, heads, heads == 2);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_TRUE(SameBits(out[i], reference[i]))
          << i << " heads per item " << heads << ": " << out[i] << " " << reference[i];
    }
  }
}

std::vector<std::pair<int, int64_t>> Range(int sequence, int64_t begin, int64_t end) {
  std::vector<std::pair<int, int64_t>> rows;
  for (int64_t p = begin; p < end; ++p) rows.emplace_back(sequence, p);
  return rows;
}

class AttentionTest : public ::testing::TestWithParam<Geometry> {};

TEST_P(AttentionTest, PrefillDecodeAndMixedBatches) {
  const Cache cache(GetParam(), {{0, 300}, {0, 140}, {0, 1}});
  std::vector<std::pair<int, int64_t>> rows = Range(0, 0, 40);     // from an empty cache
  for (const auto& row : Range(0, 250, 291)) rows.push_back(row);  // a later chunk of prefill, over the edge at 256
  rows.emplace_back(2, 0);                                         // decode rows of other sequences in between
  rows.emplace_back(1, 139);
  for (const auto& row : Range(1, 120, 125)) rows.push_back(row);
  rows.emplace_back(0, 299);
  const Rows batch = MakeRows(GetParam(), rows);
  ExpectAllAgree(cache, batch);

  // A row alone gives the same bits as in the batch.
  const Isa best = BestIsa(CpuFeatures::Host());
  const std::vector<float> whole = Attend(best, cache, batch);
  const size_t width = static_cast<size_t>(GetParam().heads) * GetParam().dim;
  for (const size_t row : {size_t{0}, size_t{17}, size_t{39}, size_t{60}, rows.size() - 1}) {
    const std::vector<float> alone = Attend(best, cache, MakeRows(GetParam(), {rows[row]}));
    for (size_t i = 0; i < width; ++i) ASSERT_TRUE(SameBits(alone[i], whole[row * width + i])) << "row " << row;
  }
}

std::string NameOfGeometry(const ::testing::TestParamInfo<Geometry>& param) {
  const Geometry& g = param.param;
  return fmt::format("H{}Kv{}D{}W{}{}", g.heads, g.kv_heads, g.dim, g.window, NameOf(g.dtype));
}

INSTANTIATE_TEST_SUITE_P(Geometries, AttentionTest,
                         ::testing::Values(Geometry{4, 2, 32, 0, DType::kF16}, Geometry{8, 1, 64, 0, DType::kF16},
                                           Geometry{8, 1, 16, 33, DType::kF16}, Geometry{6, 2, 40, 100, DType::kBF16},
                                           Geometry{5, 5, 8, 0, DType::kF32}, Geometry{4, 4, 128, 128, DType::kF32},
                                           Geometry{2, 1, 256, 64, DType::kF16}, Geometry{2, 1, 512, 0, DType::kBF16},
                                           Geometry{3, 1, 24, 1, DType::kF16}),
                         NameOfGeometry);

// A windowed sequence far from its start keeps a ring of pages; everything the window does not reach is NaN.
TEST(AttentionRingTest, FarPositionsInARing) {
  const Geometry g{4, 1, 32, 100, DType::kF16};
  const int64_t base = 131000;
  const Cache cache(g, {{base - 150, base + 60, 4}});  // 4 pages hold 256 positions; the oldest are overwritten
  ExpectAllAgree(cache, MakeRows(g, Range(0, base, base + 60)));
  ExpectAllAgree(cache, MakeRows(g, {{0, base + 59}}));
}

// Rows of one sequence with a gap wider than the window: the chunks between them belong to nobody.
TEST(AttentionRingTest, GapsBetweenRowsAreSkipped) {
  const Geometry g{2, 1, 16, 20, DType::kF32};
  const Cache cache(g, {{0, 700}});
  ExpectAllAgree(cache, MakeRows(g, {{0, 5}, {0, 150}, {0, 650}, {0, 699}}));
}

TEST(AttentionTest, NanInAFutureRowStaysThere) {
  const Geometry g{4, 2, 32, 0, DType::kF32};
  const Cache cache(g, {{0, 20}});  // row 20 and later are NaN in the pool
  const Rows rows = MakeRows(g, Range(0, 10, 21));
  for (const Isa isa : {Isa::kPortable, BestIsa(CpuFeatures::Host())}) {
    const std::vector<float> out = Attend(isa, cache, rows);
    const size_t width = static_cast<size_t>(g.heads) * g.dim;
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / width == 10) << i / width;
  }
}

TEST(AttentionItemsTest, CountsAndChoice) {
  AttentionArgs args;
  args.group = {1, 2, 64, 0};
  args.num_heads = 16;
  const std::vector<int32_t> positions(33);
  args.positions = positions;
  EXPECT_EQ(NumAttentionItems(args), 3 * 2);
  args.heads_per_item = 3;
  EXPECT_EQ(NumAttentionItems(args), 3 * 2 * 3);
  EXPECT_EQ(AttentionHeadsPerItem(1, 8, 1, 2), 4);
  EXPECT_EQ(AttentionHeadsPerItem(1, 8, 1, 1), 8);
  EXPECT_EQ(AttentionHeadsPerItem(64, 8, 1, 4), 8);
  EXPECT_EQ(AttentionHeadsPerItem(1, 8, 1, 64), 1);
}

}  // namespace
}  // namespace quern::ops::cpu
