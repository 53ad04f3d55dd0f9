#include "cli/exit_code.h"

#include <set>

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

TEST(ExitCode, TableHasEachCodeAndNameOnce) {
  std::set<int> codes;
  std::set<std::string_view> names;
  for (const ExitCodeRow& row : ExitCodes()) {
    EXPECT_TRUE(codes.insert(static_cast<int>(row.code)).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.when.empty());
  }
}

// The statuses are a published interface; a change here breaks scripts.
TEST(ExitCode, EveryErrorCodeHasItsPublishedStatus) {
  const std::pair<Code, int> expected[] = {
      {Code::kInvalidArgument, 2},    {Code::kNotFound, 3},          {Code::kCorrupt, 5},     {Code::kUnsupported, 7},
      {Code::kFailedPrecondition, 8}, {Code::kResourceExhausted, 6}, {Code::kCancelled, 130}, {Code::kDeadline, 4},
      {Code::kUnavailable, 9},        {Code::kInternal, 1}};
  for (const auto& [code, status] : expected) EXPECT_EQ(static_cast<int>(ExitCodeFor(code)), status) << CodeName(code);
  EXPECT_EQ(NameOf(ExitCode::kGateFailed), "gate_failed");
}

}  // namespace
}  // namespace quern::cli
