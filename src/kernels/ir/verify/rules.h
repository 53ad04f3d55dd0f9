// The rules of the verifier, one function for each group. Internal to kernels/ir: Verify calls them in order.
#pragma once

#include <vector>

#include "kernels/ir/verify.h"

namespace quern::kernels::ir::verify {

using Violations = std::vector<Violation>;

// V1 and V11. Everything else assumes that this found nothing.
void CheckTypes(const Kernel& kernel, Violations& out);
void CheckAssigned(const Kernel& kernel, Violations& out);                         // V2
void CheckUniform(const Kernel& kernel, Violations& out);                          // V3
void CheckResources(const Kernel& kernel, const Limits& limits, Violations& out);  // V6
void CheckUsed(const Kernel& kernel, Violations& out);                             // V10
// V4, V5, V7, V8 and V9: what a symbolic execution of one thread shows.
void CheckValues(const Kernel& kernel, Violations& out);

}  // namespace quern::kernels::ir::verify
