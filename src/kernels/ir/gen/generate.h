// The generator of a kernel, by its descriptor and schedule.
#pragma once

#include "base/status.h"
#include "kernels/descriptor/descriptor.h"
#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::gen {

// Pure and deterministic. Unsupported when no generator serves the pair; the message says what does not fit.
Result<Kernel> Generate(const Descriptor& descriptor, const Schedule& schedule);

}  // namespace quern::kernels::ir::gen
