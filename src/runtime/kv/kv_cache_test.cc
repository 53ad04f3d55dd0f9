// What the page pool must hold: tables that always cover what a query may see, copies on write, rollback, and no page
// lost.
#include "runtime/kv/kv_cache.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace quern::runtime {
namespace {

constexpr int kWindow = 100;
constexpr int kStepRows = 32;

ops::KvSpec TwoGroups() { return {{{2, 1, 8, 0}, {3, 2, 8, kWindow}}}; }

std::unique_ptr<KvCache> MakeCache(int64_t context = 1024, int max_sequences = 3) {
  KvCacheOptions options;
  options.dtype = DType::kF32;
  options.context = context;
  options.max_sequences = max_sequences;
  options.max_step_rows = kStepRows;
  auto cache = KvCache::Create(TwoGroups(), options);
  EXPECT_TRUE(cache.has_value());
  return std::move(*cache);
}

// Writes a number that names (sequence tag, position) where a model would write K, and reads it back.
float* Row(KvCache& cache, const KvSequence& sequence, int group, int64_t position) {
  const auto pages = sequence.View().tables[group].pages;
  const int32_t page = pages[(position / ops::kPageTokens) % static_cast<int64_t>(pages.size())];
  EXPECT_GE(page, 0);
  const int64_t heads = group == 0 ? 1 : 2;
  return reinterpret_cast<float*>(cache.pools()[group].k) +
         (page * heads * ops::kPageTokens + position % ops::kPageTokens) * 8;
}

void Append(KvCache& cache, KvSequence* sequence, int64_t rows, float tag) {
  while (rows > 0) {
    const int64_t n = std::min<int64_t>(rows, kStepRows);
    ASSERT_TRUE(sequence->Reserve(n).has_value());
    for (int64_t i = 0; i < n; ++i) {
      for (int group = 0; group < 2; ++group)
        *Row(cache, *sequence, group, sequence->length() + i) = tag + static_cast<float>(sequence->length() + i);
    }
    sequence->Advance(n);
    rows -= n;
  }
}

TEST(KvCache, EveryPositionThatAQueryMaySeeIsHeld) {
  auto cache = MakeCache();
  auto sequence = cache->NewSequence();
  for (int step = 0; step < 25; ++step) {
    Append(*cache, &*sequence, kStepRows, 0);
    const int64_t first_query = sequence->length() - kStepRows;  // the earliest query of the step that was just written
    for (int64_t p = 0; p < sequence->length(); ++p) EXPECT_EQ(*Row(*cache, *sequence, 0, p), static_cast<float>(p));
    for (int64_t p = std::max<int64_t>(0, first_query - kWindow + 1); p < sequence->length(); ++p) {
      EXPECT_EQ(*Row(*cache, *sequence, 1, p), static_cast<float>(p));
    }
  }
}

TEST(KvCache, ForkSharesUntilOneSideWrites) {
  auto cache = MakeCache();
  auto a = cache->NewSequence();
  Append(*cache, &*a, 90, 0);
  const int64_t free_before = cache->num_free_pages(0);
  auto b = a->Fork();
  ASSERT_TRUE(b.has_value());
  EXPECT_EQ(cache->num_free_pages(0), free_before) << "a fork takes no page";
  Append(*cache, &*b, 10, 1000);
  Append(*cache, &*a, 10, 2000);
  for (int64_t p = 0; p < 90; ++p) {
    EXPECT_EQ(*Row(*cache, *a, 0, p), static_cast<float>(p));
    EXPECT_EQ(*Row(*cache, *b, 0, p), static_cast<float>(p));
  }
  for (int64_t p = 90; p < 100; ++p) {
    EXPECT_EQ(*Row(*cache, *a, 1, p), 2000 + static_cast<float>(p));
    EXPECT_EQ(*Row(*cache, *b, 1, p), 1000 + static_cast<float>(p));
  }
  EXPECT_EQ(cache->num_copied_pages(), 2) << "the half-full page of each group, once";
}

TEST(KvCache, GoesBackOnlyWhereTheWindowIsStillHeld) {
  auto cache = MakeCache();
  auto sequence = cache->NewSequence();
  Append(*cache, &*sequence, 600, 0);
  EXPECT_TRUE(sequence->CanTruncate(600));
  EXPECT_FALSE(sequence->CanTruncate(601));
  EXPECT_FALSE(sequence->CanTruncate(200)) << "position 101 to 199 of the sliding layers are gone";
  EXPECT_FALSE(sequence->CanTruncate(0))
      << "cannot be known to be wanted: starting over is Truncate(0), always allowed";
  int64_t lowest = 600;
  while (sequence->CanTruncate(lowest - 1)) --lowest;
  EXPECT_LT(lowest, 600);
  sequence->Truncate(lowest);
  EXPECT_EQ(sequence->length(), lowest);
  for (int64_t p = lowest - kWindow + 1; p < lowest; ++p)
    EXPECT_EQ(*Row(*cache, *sequence, 1, p), static_cast<float>(p));
  Append(*cache, &*sequence, 200, 5000);
  EXPECT_EQ(*Row(*cache, *sequence, 1, lowest), 5000 + static_cast<float>(lowest));
}

TEST(KvCache, LimitsAreErrorsWithBothNumbers) {
  auto cache = MakeCache(64, 2);
  auto a = cache->NewSequence();
  Append(*cache, &*a, 60, 0);
  const Status full = a->Reserve(5);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_NE(full.error().message.find("65"), std::string::npos);
  EXPECT_NE(full.error().message.find("64"), std::string::npos);
  EXPECT_TRUE(a->Reserve(4).has_value());
  auto b = cache->NewSequence();
  const auto c = cache->NewSequence();
  ASSERT_FALSE(c.has_value());
  EXPECT_EQ(c.error().code, Code::kResourceExhausted);
}

// Random forks, appends, truncations and deaths against a map that remembers what each sequence should hold.
TEST(KvCache, RandomOperationsLoseNothing) {
  auto cache = MakeCache(640, 4);
  const int64_t free_full = cache->num_free_pages(0), free_ring = cache->num_free_pages(1);
  std::mt19937 random(7);
  struct Tracked {
    KvSequence sequence;
    std::vector<float> rows;
  };
  std::vector<Tracked> alive;
  float tag = 0;
  for (int round = 0; round < 4000; ++round) {
    const int action = static_cast<int>(random() % 6);
    if (alive.empty() || (action == 0 && alive.size() < 4)) {
      if (alive.empty()) {
        alive.push_back({std::move(*cache->NewSequence()), {}});
      } else {
        const size_t from = random() % alive.size();
        alive.push_back({std::move(*alive[from].sequence.Fork()), alive[from].rows});
      }
      continue;
    }
    Tracked& one = alive[random() % alive.size()];
    if (action == 1) {
      std::swap(one, alive.back());
      alive.pop_back();
    } else if (action == 2) {
      const auto length = static_cast<int64_t>(random() % (one.rows.size() + 1));
      if (one.sequence.CanTruncate(length)) {
        one.sequence.Truncate(length);
        one.rows.resize(length);
      }
    } else {
      const auto rows = static_cast<int64_t>(1 + random() % kStepRows);
      if (one.sequence.length() + rows > 640) continue;
      tag += 1000;
      for (int64_t i = 0; i < rows; ++i) one.rows.push_back(tag + static_cast<float>(one.sequence.length() + i));
      Append(*cache, &one.sequence, rows, tag);
      if (HasFatalFailure()) return;
    }
    for (const Tracked& each : alive) {
      const int64_t n = each.sequence.length();
      ASSERT_EQ(n, static_cast<int64_t>(each.rows.size()));
      for (int64_t p = 0; p < n; ++p) ASSERT_EQ(*Row(*cache, each.sequence, 0, p), each.rows[p]);
      for (int64_t p = std::max<int64_t>(0, n - kWindow + 1); p < n; ++p)
        ASSERT_EQ(*Row(*cache, each.sequence, 1, p), each.rows[p]);
    }
  }
  alive.clear();
  EXPECT_EQ(cache->num_free_pages(0), free_full);
  EXPECT_EQ(cache->num_free_pages(1), free_ring);
  EXPECT_EQ(cache->num_sequences(), 0);
}

}  // namespace
}  // namespace quern::runtime
