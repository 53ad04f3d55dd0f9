#include "kernels/ir/verify.h"

#include "kernels/ir/verify/passes.h"

namespace quern::kernels::ir {

std::string_view NameOf(Rule rule) {
  constexpr std::string_view kNames[] = {"", "V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10", "V11"};
  return kNames[static_cast<size_t>(rule)];
}

std::vector<Violation> Verify(const Kernel& kernel, const Limits& limits) {
  verify::Report report(kernel);
  verify::CheckTypes(kernel, report);
  if (!report.empty()) return std::move(report).Take();
  verify::CheckAssignment(kernel, report);
  if (!report.empty()) return std::move(report).Take();
  verify::CheckUniform(kernel, report);
  verify::CheckAccesses(kernel, report);
  verify::CheckResources(kernel, limits, report);
  verify::CheckUse(kernel, report);
  return std::move(report).Take();
}

}  // namespace quern::kernels::ir
