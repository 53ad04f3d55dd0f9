// The passes of the verifier, one per group of rules. Each reads the kernel and adds to the report. All but the first
// rely on what CheckTypes establishes: valid indices and types.
#pragma once

#include "kernels/ir/verify/report.h"

namespace quern::kernels::ir::verify {

void CheckTypes(const Kernel& kernel, Report& report);                            // V1, V11
void CheckAssignment(const Kernel& kernel, Report& report);                       // V2
void CheckUniform(const Kernel& kernel, Report& report);                          // V3
void CheckAccesses(const Kernel& kernel, Report& report);                         // V4, V5, V7, V8, V9
void CheckResources(const Kernel& kernel, const Limits& limits, Report& report);  // V6
void CheckUse(const Kernel& kernel, Report& report);                              // V10

}  // namespace quern::kernels::ir::verify
