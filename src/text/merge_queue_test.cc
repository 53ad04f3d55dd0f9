// Proves: both queues give out the least (rank, position) of what they hold at every moment, also when lower and equal
// ranks come up while a rank is being worked off, as merges bring them up.
#include "text/merge_queue.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace quern::text {
namespace {

template <class Queue>
void CompareWithASet(Queue* queue, uint32_t num_ranks, std::mt19937& random) {
  std::multiset<std::pair<uint32_t, int32_t>> expected;
  const auto push = [&] {
    const uint32_t rank = random() % num_ranks;
    const auto position = static_cast<int32_t>(random() % 50);
    queue->Push(rank, position);
    expected.emplace(rank, position);
  };
  for (int i = random() % 40; i > 0; --i) push();
  MergeCandidate candidate;
  for (int budget = 60; queue->Pop(&candidate);) {
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(std::pair(candidate.rank, candidate.position), *expected.begin());
    expected.erase(expected.begin());
    for (; budget > 0 && random() % 2 == 0; --budget) push();
  }
  ASSERT_TRUE(expected.empty());
}

TEST(MergeQueue, PopsTheLeastAtEveryMoment) {
  std::mt19937 random(1);
  HeapQueue heap;
  BucketQueue buckets;
  for (int round = 0; round < 5000; ++round) {
    const uint32_t num_ranks = 1 + random() % 200;
    heap.Clear();
    CompareWithASet(&heap, num_ranks, random);
    buckets.Reset(num_ranks);
    CompareWithASet(&buckets, num_ranks, random);
  }
}

}  // namespace
}  // namespace quern::text
