// Progress of the measurements of the program as it is shipped: long enough to be shown, and in counts.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/program.h"

namespace quern::cli::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kNano = QUERN_SOURCE_DIR "/models/gemma4-nano";

// Progress begins after half a second, so each measurement runs until the first report is there and is then ended.
TEST(Measure, BenchReportsRuns) {
  const Scratch scratch;
  const Finished run = RunProgram({"bench", kNano, "-p", "128", "-n", "64", "--reps", "1000", "--json"},
                                  scratch.Variables(), {.signal_after = "\"name\":\"bench\"", .signal = SIGINT});
  EXPECT_EQ(run.status, 130);
  EXPECT_THAT(run.err, HasSubstr("\"total\":2002,\"unit\":\"runs\""));
}

TEST(Measure, PerplexityReportsChunks) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += i % 3 == 0 ? "river " : "water ";
  const Finished run = RunProgram({"perplexity", kNano, "-f", scratch.Write("text.txt", text), "--ctx", "128"},
                                  scratch.Variables(), {.signal_after = " chunks", .signal = SIGINT});
  EXPECT_EQ(run.status, 130);
  EXPECT_THAT(run.err, ContainsRegex("perplexity [^\n]+ [0-9]+% [0-9]+/[0-9]+ chunks"));
}

}  // namespace
}  // namespace quern::cli::testing
