#include "base/thread_team.h"

#include <chrono>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(ThreadTeam, RunCallsEveryMemberOnceOnItsOwnThread) {
  for (const int size : {1, 2, 3, 8}) {
    ThreadTeam team(size);
    ASSERT_EQ(team.size(), size);
    std::mutex mutex;
    std::multiset<int> members;
    std::set<std::thread::id> threads;
    std::thread::id first;
    team.Run([&](int member) {
      const std::lock_guard lock(mutex);
      members.insert(member);
      threads.insert(std::this_thread::get_id());
      if (member == 0) first = std::this_thread::get_id();
    });
    EXPECT_EQ(members.size(), static_cast<size_t>(size));
    for (int member = 0; member < size; ++member) EXPECT_EQ(members.count(member), 1u);
    EXPECT_EQ(threads.size(), static_cast<size_t>(size));
    EXPECT_EQ(first, std::this_thread::get_id()) << "member 0 is the caller";
  }
}

// Every index exactly once, in parts that begin at multiples of the grain; fewer indices than members included.
TEST(ThreadTeam, ForCoversEveryIndexExactlyOnce) {
  for (const int size : {1, 2, 5}) {
    ThreadTeam team(size);
    for (const int64_t grain : {1, 3, 64}) {
      for (const int64_t count : {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 1000, 4097}) {
        std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
        std::atomic<int> empty_or_misaligned{0};
        team.For(count, grain, [&](int64_t begin, int64_t end) {
          if (begin >= end || begin % grain != 0 || (end % grain != 0 && end != count)) ++empty_or_misaligned;
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        EXPECT_EQ(empty_or_misaligned, 0);
        for (const std::atomic<int>& visit : visits) {
          ASSERT_EQ(visit, 1) << "size " << size << " grain " << grain << " count " << count;
        }
      }
    }
  }
}

// The cut depends on the sizes only, so that sums do not depend on timing.
TEST(ThreadTeam, ForCutsTheSameWayEveryTime) {
  ThreadTeam team(3);
  const auto cuts = [&] {
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> parts;
    team.For(1000, 8, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      parts.insert({begin, end});
    });
    return parts;
  };
  const auto expected = cuts();
  EXPECT_EQ(expected.size(), 3u);
  for (int round = 0; round < 100; ++round) ASSERT_EQ(cuts(), expected);
}

// Plain (not atomic) writes of all members are visible to the caller after Run, and the caller's to the members.
TEST(ThreadTeam, TenThousandRegionsInARow) {
  ThreadTeam team(4);
  std::vector<int64_t> sums(4, 0);
  int64_t addend = 0;
  for (int64_t region = 1; region <= 10'000; ++region) {
    addend = region;
    team.Run([&](int member) { sums[static_cast<size_t>(member)] += addend; });
    for (const int64_t sum : sums) ASSERT_EQ(sum, region * (region + 1) / 2);
  }
}

// Members that have gone to sleep wake up again, and a caller that sleeps on a slow member as well.
TEST(ThreadTeam, WakesAfterPauses) {
  ThreadTeam team(3);
  std::atomic<int> calls{0};
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    team.Run([&](int member) {
      if (member == 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ++calls;
    });
  }
  EXPECT_EQ(calls, 15);
}

TEST(ThreadTeam, TeamsComeAndGo) {
  for (int round = 0; round < 200; ++round) {
    ThreadTeam team(1 + round % 4);
    if (round % 2 == 0) continue;  // destroyed without any work
    std::atomic<int> calls{0};
    team.Run([&](int) { ++calls; });
    EXPECT_EQ(calls, team.size());
  }
}

}  // namespace
}  // namespace quern
