#include <gtest/gtest.h>

#include "base/status.h"

namespace quern {
namespace {

Status Inner() { return WithHint(Fail(Code::kResourceExhausted, "{} bytes exceed {}", 9, 8), "raise the limit"); }

Result<int> Middle(bool fail) {
  if (fail) QUERN_TRY(Inner());
  return 7;
}

Result<int> Outer(bool fail) {
  QUERN_ASSIGN_OR_RETURN(const int value, Middle(fail));
  return value + 1;
}

// The macros hand on the error unchanged, and the value when there is none.
TEST(Status, MacrosPassErrorsAndValues) {
  EXPECT_EQ(*Outer(false), 8);
  const Result<int> failed = Outer(true);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kResourceExhausted);
  EXPECT_EQ(failed.error().message, "9 bytes exceed 8");
}

TEST(Status, TextHasFramesOutermostFirstAndTheHint) {
  const Status failed = WithFrame(WithFrame(Inner().error(), "loading blk.3").value(), "opening model.gguf");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().ToString(), "opening model.gguf: loading blk.3: 9 bytes exceed 8 (raise the limit)");
}

// The names are part of logs and of the HTTP interface.
TEST(Status, CodeNamesAreStable) {
  const std::vector<std::pair<Code, std::string_view>> names = {{Code::kInvalidArgument, "invalid_argument"},
                                                                {Code::kNotFound, "not_found"},
                                                                {Code::kCorrupt, "corrupt"},
                                                                {Code::kUnsupported, "unsupported"},
                                                                {Code::kFailedPrecondition, "failed_precondition"},
                                                                {Code::kResourceExhausted, "resource_exhausted"},
                                                                {Code::kCancelled, "cancelled"},
                                                                {Code::kDeadline, "deadline"},
                                                                {Code::kUnavailable, "unavailable"},
                                                                {Code::kInternal, "internal"}};
  for (const auto& [code, name] : names) EXPECT_EQ(CodeName(code), name);
}

}  // namespace
}  // namespace quern
