// Which part of a prompt a conversation's cache keeps from turn to turn.
#include "runtime/session/cached_sequence.h"

#include <numeric>

#include <gtest/gtest.h>

namespace quern::runtime {
namespace {

constexpr int kWindow = 64;
constexpr int kStepRows = 64;

std::unique_ptr<KvCache> MakeCache(int max_sequences = 3) {
  KvCacheOptions options;
  options.context = 4096;
  options.max_sequences = max_sequences;
  options.max_step_rows = kStepRows;
  return std::move(*KvCache::Create({{{1, 1, 8, 0}, {1, 1, 8, kWindow}}}, options));
}

std::vector<int32_t> Range(int32_t begin, int32_t end) {
  std::vector<int32_t> ids(end - begin);
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

void Feed(CachedSequence* cached, std::span<const int32_t> ids) {
  for (size_t begin = 0; begin < ids.size(); begin += kStepRows) {
    const auto part = ids.subspan(begin, std::min<size_t>(kStepRows, ids.size() - begin));
    ASSERT_TRUE(cached->live()->Reserve(static_cast<int64_t>(part.size())).has_value());
    cached->live()->Advance(static_cast<int64_t>(part.size()));
  }
  cached->Appended(ids);
}

TEST(CachedSequence, KeepsTheCommonPrefixButNeverTheLastToken) {
  auto cache = MakeCache();
  auto cached = CachedSequence::Create(cache.get());
  const auto prompt = Range(0, 100);
  EXPECT_EQ(*cached->Reuse(prompt), 0);
  Feed(&*cached, prompt);
  EXPECT_EQ(*cached->Reuse(prompt), 99) << "the same prompt again: its last token's logits are needed";
  Feed(&*cached, std::span(prompt).subspan(99));
  const auto longer = Range(0, 120);
  EXPECT_EQ(*cached->Reuse(longer), 100);
}

TEST(CachedSequence, ADifferentPromptStartsOver) {
  auto cache = MakeCache();
  auto cached = CachedSequence::Create(cache.get());
  Feed(&*cached, Range(0, 100));
  EXPECT_EQ(*cached->Reuse(Range(500, 600)), 0);
  EXPECT_TRUE(cached->tokens().empty());
}

// A long answer moves the windows past the end of the prompt; the next prompt repeats the prompt but not the answer
// (thinking is stripped from history). The snapshot brings the prompt back.
TEST(CachedSequence, TheSnapshotSurvivesALongAnswer) {
  auto cache = MakeCache();
  auto cached = CachedSequence::Create(cache.get());
  const auto prompt = Range(0, 300);
  Feed(&*cached, prompt);
  cached->TakeSnapshot();
  for (int32_t id = 10000; id < 10600; ++id) Feed(&*cached, std::span(&id, 1));
  std::vector<int32_t> next = prompt;
  next.push_back(777);
  next.push_back(778);
  EXPECT_EQ(*cached->Reuse(next), 300);
  EXPECT_EQ(cached->live()->length(), 300);
  EXPECT_EQ(cached->tokens().size(), 300u);
}

TEST(CachedSequence, WithoutASnapshotALongAnswerMeansStartingOver) {
  auto cache = MakeCache();
  auto cached = CachedSequence::Create(cache.get());
  const auto prompt = Range(0, 300);
  Feed(&*cached, prompt);
  for (int32_t id = 10000; id < 10600; ++id) Feed(&*cached, std::span(&id, 1));
  std::vector<int32_t> next = prompt;
  next.push_back(777);
  EXPECT_EQ(*cached->Reuse(next), 0) << "reusing the prefix without its window would change the result";
}

TEST(CachedSequence, AnInterruptedPromptRemembersOnlyWhatWasDone) {
  auto cache = MakeCache();
  auto cached = CachedSequence::Create(cache.get());
  const auto prompt = Range(0, 300);
  ASSERT_TRUE(cached->live()->Reserve(kStepRows).has_value());
  cached->live()->Advance(kStepRows);
  cached->Appended(prompt);
  EXPECT_EQ(cached->tokens().size(), static_cast<size_t>(kStepRows));
  EXPECT_EQ(*cached->Reuse(prompt), kStepRows);
}

TEST(CachedSequence, WorksWithoutRoomForASnapshotAndCountsIt) {
  auto cache = MakeCache(1);
  auto cached = CachedSequence::Create(cache.get());
  Feed(&*cached, Range(0, 10));
  cached->TakeSnapshot();
  EXPECT_EQ(cached->num_skipped_snapshots(), 1);
  EXPECT_EQ(*cached->Reuse(Range(0, 20)), 10);
}

}  // namespace
}  // namespace quern::runtime
