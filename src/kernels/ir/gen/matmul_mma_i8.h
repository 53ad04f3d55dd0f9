// Generator: y = x W^T, class dot-i8, by int8 mma.sync over panels of layout rp16 (kernels/layout/rp16.h) and
// activations in qa8 tiles (kernels/layout/qa8_tile.h).
//
// y [R, N] f32. A tile is one row tile (8 rows of x) by `warps / split * rows_per_warp` panels. Block b feeds chain
// b mod 8; `split` warps share a panel, each with 8 / split whole chains, so neither split nor anything else of the
// schedule changes a bit. Weights stream through a ring of `stages` stages of `unroll` groups per warp in shared
// memory: reads in flight cost no registers.
//
// A schedule with a long ring serves only K of at least 256 * ((stages - 1) * unroll - 1) + 32; the range of the
// parameter `blocks` says so. Parameters, in order: rows R, n N, blocks K / 32. Buffers: w, q, d, [isum: formats with a
// minimum], y. Exact against the sequential order of the contract while |y| stays below 2^120: formats with an offset
// accumulate 2^shift times their sums, which is undone at the end.
#pragma once

#include "base/status.h"
#include "kernels/descriptor/descriptor.h"
#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::gen {

// Unsupported when descriptor or schedule ask for something else; the message says what.
Result<Kernel> MatmulMmaI8(const Descriptor& descriptor, const Schedule& schedule);

}  // namespace quern::kernels::ir::gen
