// Generator: x [R, K] f32 to qa8 tiles (kernels/layout/qa8_tile.h). One warp takes one pair of blocks of 8 rows.
// Parameters: rows R, blocks K / 32. Buffers: x, q, d, isum. Elementwise: bitwise equal on every backend.
#pragma once

#include "base/status.h"
#include "kernels/descriptor/descriptor.h"
#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::gen {

Result<Kernel> QuantizeRows(const Descriptor& descriptor, const Schedule& schedule);

}  // namespace quern::kernels::ir::gen
