#include "kernels/ir/verify.h"

#include "kernels/ir/verify/rules.h"

namespace quern::kernels::ir {

std::string_view CodeOf(Rule rule) {
  constexpr std::string_view kCodes[] = {"", "V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8", "V9", "V10", "V11"};
  static_assert(std::size(kCodes) == static_cast<size_t>(Rule::kNarrowFloat) + 1);
  return kCodes[static_cast<size_t>(rule)];
}

std::vector<Violation> Verify(const Kernel& kernel, const Limits& limits) {
  std::vector<Violation> out;
  verify::CheckTypes(kernel, out);
  if (!out.empty()) return out;
  verify::CheckAssigned(kernel, out);
  verify::CheckUniform(kernel, out);
  const bool sound = out.empty();
  verify::CheckResources(kernel, limits, out);
  verify::CheckUsed(kernel, out);
  if (sound) verify::CheckValues(kernel, out);
  return out;
}

}  // namespace quern::kernels::ir
