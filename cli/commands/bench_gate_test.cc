#include "cli/commands/bench_gate.h"

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

TEST(Requirement, ParsesKindTokensStatisticAndBound) {
  const Requirement requirement = *ParseRequirement("pp512.min>=2000.5");
  EXPECT_EQ(requirement.kind, "pp");
  EXPECT_EQ(requirement.tokens, 512);
  EXPECT_EQ(requirement.statistic, "min");
  EXPECT_EQ(requirement.comparison, ">=");
  EXPECT_EQ(requirement.bound, 2000.5);
  for (const char* bad : {"", "tg", "tg.median", "tg.mean>1", "xx.median>1", "tg.median>>1", "tg.median>1x",
                          "tg.median>nan", "tgx.median>1", "tg.median>=", "tg>1.median"}) {
    EXPECT_FALSE(ParseRequirement(bad)) << bad;
  }
}

TEST(Requirement, EveryMatchingRowMustHold) {
  const BenchReport report{
      .rows = {{.kind = "tg", .tokens = 16, .median = 30}, {.kind = "tg", .tokens = 32, .median = 20}}};
  EXPECT_TRUE(CheckRequirement(*ParseRequirement("tg.median>=20"), report));
  EXPECT_TRUE(CheckRequirement(*ParseRequirement("tg16.median>25"), report));
  const Status failed = CheckRequirement(*ParseRequirement("tg.median>25"), report);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(failed.error().message, "requirement tg.median>25 does not hold: tg32 at depth 0 has median 20.00");
  EXPECT_FALSE(CheckRequirement(*ParseRequirement("pp.median>0"), report)) << "nothing measured is no pass";
}

TEST(CompareBench, GivesRatioAndInterval) {
  const auto document = [](double median, double low, double high, const char* hash) {
    return Json{
        {"schema", "quern.bench/1"},
        {"model_sha256", hash},
        {"options", 1},
        {"rows",
         Json::array(
             {{{"kind", "tg"}, {"tokens", 8}, {"depth", 0}, {"median", median}, {"min", low}, {"max", high}}})}};
  };
  const auto ratios = CompareBench(document(10, 8, 12, "a"), document(20, 18, 24, "a"));
  ASSERT_TRUE(ratios && ratios->size() == 1);
  EXPECT_DOUBLE_EQ(ratios->front().ratio, 2);
  EXPECT_DOUBLE_EQ(ratios->front().low, 1.5);
  EXPECT_DOUBLE_EQ(ratios->front().high, 3);
  EXPECT_EQ(CompareBench(document(10, 8, 12, "a"), document(20, 18, 24, "b")).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(CompareBench(Json::object(), document(1, 1, 1, "a")).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace quern::cli
