#include "cli/commands/bench_gate.h"

#include <algorithm>
#include <array>

#include "cli/numbers.h"

namespace quern::cli {
namespace {

double StatisticOf(const BenchRow& row, std::string_view statistic) {
  if (statistic == "median") return row.median;
  if (statistic == "min") return row.min;
  return statistic == "max" ? row.max : row.stddev;
}

bool Holds(double value, std::string_view comparison, double bound) {
  if (comparison == ">=") return value >= bound;
  if (comparison == "<=") return value <= bound;
  if (comparison == ">") return value > bound;
  return comparison == "<" ? value < bound : value == bound;
}

bool IsRow(const Json& row) {
  return row.is_object() && row.value("kind", Json()).is_string() && row.value("tokens", Json()).is_number_integer() &&
         row.value("depth", Json()).is_number_integer() && row.value("median", Json()).is_number() &&
         row.value("min", Json()).is_number() && row.value("max", Json()).is_number();
}

Result<const Json*> RowsOf(const Json& document) {
  if (!document.is_object() || document.value("schema", Json()) != "quern.bench/1" || !document.contains("rows") ||
      !document["rows"].is_array() || !std::all_of(document["rows"].begin(), document["rows"].end(), IsRow)) {
    return Fail(Code::kInvalidArgument, "the file to compare with is not a document of schema quern.bench/1");
  }
  return &document["rows"];
}

}  // namespace

Result<Requirement> ParseRequirement(std::string_view text) {
  const auto bad = [&] {
    return WithHint(Fail(Code::kInvalidArgument, "\"{}\" is not a requirement", text),
                    "write KIND.STATISTIC, a comparison and a number: tg.median>=100, pp512.min>2000");
  };
  Requirement requirement{.text = std::string(text)};
  const size_t dot = text.find('.'), comparison = text.find_first_of("<>=");
  if (dot == std::string_view::npos || comparison == std::string_view::npos || comparison < dot) return bad();
  const std::string_view subject = text.substr(0, dot);
  requirement.kind = subject.substr(0, 2);
  requirement.statistic = text.substr(dot + 1, comparison - dot - 1);
  const size_t number = text.find_first_not_of("<>=", comparison);
  if (number == std::string_view::npos) return bad();
  requirement.comparison = text.substr(comparison, number - comparison);
  constexpr std::array<std::string_view, 5> kComparisons = {">=", "<=", ">", "<", "=="};
  constexpr std::array<std::string_view, 4> kStatistics = {"median", "min", "max", "stddev"};
  const auto among = [](const auto& known, const std::string& word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if ((requirement.kind != "pp" && requirement.kind != "tg") || !among(kComparisons, requirement.comparison) ||
      !among(kStatistics, requirement.statistic)) {
    return bad();
  }
  if (subject.size() > 2) {
    const Result<int64_t> tokens = ParseInt(subject.substr(2));
    if (!tokens || *tokens < 1) return bad();
    requirement.tokens = *tokens;
  }
  const Result<double> bound = ParseFloat(text.substr(number));
  if (!bound) return bad();
  requirement.bound = *bound;
  return requirement;
}

Status CheckRequirement(const Requirement& requirement, const BenchReport& report) {
  bool any = false;
  for (const BenchRow& row : report.rows) {
    if (row.kind != requirement.kind || (requirement.tokens != 0 && row.tokens != requirement.tokens)) continue;
    any = true;
    const double value = StatisticOf(row, requirement.statistic);
    if (Holds(value, requirement.comparison, requirement.bound)) continue;
    return Fail(Code::kFailedPrecondition, "requirement {} does not hold: {}{} at depth {} has {} {:.2f}",
                requirement.text, row.kind, row.tokens, row.depth, requirement.statistic, value);
  }
  if (!any) return Fail(Code::kFailedPrecondition, "requirement {} matches no measurement", requirement.text);
  return {};
}

Result<std::vector<RowRatio>> CompareBench(const Json& before, const Json& now) {
  QUERN_ASSIGN_OR_RETURN(const Json* const old_rows, RowsOf(before));
  QUERN_ASSIGN_OR_RETURN(const Json* const new_rows, RowsOf(now));
  for (const char* key : {"model_sha256", "options"}) {
    const Json old_value = before.value(key, Json()), new_value = now.value(key, Json());
    if (old_value != new_value) {
      return Fail(Code::kFailedPrecondition, "cannot compare: {} differs ({} before, {} now)", key, Dump(old_value),
                  Dump(new_value));
    }
  }
  std::vector<RowRatio> ratios;
  for (const Json& row : *new_rows) {
    for (const Json& old : *old_rows) {
      if (old["kind"] != row["kind"] || old["tokens"] != row["tokens"] || old["depth"] != row["depth"]) continue;
      const auto quotient = [&](const char* over, const char* under) {
        const double divisor = old[under].get<double>();
        return divisor > 0 ? row[over].get<double>() / divisor : 0;
      };
      ratios.push_back({row["kind"].get<std::string>(), row["tokens"].get<int64_t>(), row["depth"].get<int64_t>(),
                        quotient("median", "median"), quotient("min", "max"), quotient("max", "min")});
    }
  }
  return ratios;
}

}  // namespace quern::cli
