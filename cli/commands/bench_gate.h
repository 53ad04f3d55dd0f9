// Gates and comparisons of bench results: --require and --compare. Pure functions over reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/bench.h"

#include "cli/json_text.h"

namespace quern::cli {

// "tg.median>=100", "pp512.min>2000": kind, optionally the tokens; median, min, max or stddev; >=, <=, >, < or ==; a
// number.
struct Requirement {
  std::string text, kind, statistic, comparison;
  int64_t tokens = 0;  // 0: every row of the kind
  double bound = 0;
};
Result<Requirement> ParseRequirement(std::string_view text);

// FailedPrecondition naming requirement, row and value when a row does not meet it or no row matches.
Status CheckRequirement(const Requirement& requirement, const BenchReport& report);

struct RowRatio {
  std::string kind;
  int64_t tokens = 0, depth = 0;
  double ratio = 0, low = 0, high = 0;  // new median / old median; smallest and largest quotient of single repetitions
};
// Ratios of report to a document of schema quern.bench/1. FailedPrecondition when model hash or options differ.
Result<std::vector<RowRatio>> CompareBench(const Json& before, const Json& now);

}  // namespace quern::cli
