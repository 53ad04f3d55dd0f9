#include <limits>

#include <gtest/gtest.h>

#include "quern/generate.h"

namespace quern {
namespace {

TEST(Validate, AcceptsTheEdgesAndRefusesWhatLiesBeyond) {
  EXPECT_TRUE(Validate({}));
  EXPECT_TRUE(Validate({.temperature = 0.0f, .top_k = 0, .top_p = 1.0f, .min_p = 0.0f}));
  EXPECT_TRUE(Validate({.temperature = 2.0f, .presence_penalty = -2, .frequency_penalty = 2}));
  EXPECT_FALSE(Validate({.temperature = 2.01f}));
  EXPECT_FALSE(Validate({.temperature = std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(Validate({.top_k = -1}));
  EXPECT_FALSE(Validate({.top_p = 0.0f})) << "top_p excludes 0";
  EXPECT_FALSE(Validate({.min_p = 1.5f}));
  EXPECT_FALSE(Validate({.repeat_penalty = 0}));
  EXPECT_FALSE(Validate({.logit_bias = {{-1, 1.0f}}}));
}

TEST(Validate, NamesFieldValueAndRange) {
  const Status status = Validate({.temperature = 3.0f});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(status.error().message, "temperature is 3; the range is from 0 to 2");
}

TEST(NameOf, MatchesTheWireNames) {
  EXPECT_EQ(NameOf(FinishReason::kStop), "stop");
  EXPECT_EQ(NameOf(FinishReason::kLength), "length");
  EXPECT_EQ(NameOf(FinishReason::kInterrupted), "interrupted");
  EXPECT_EQ(NameOf(FinishReason::kToolCalls), "tool_calls");
}

}  // namespace
}  // namespace quern
