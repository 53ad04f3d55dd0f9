// PackedMatrix: a weight [N, K] (or [E, N, K] as E * N rows) repacked for the CPU products.
//
// Layout: panels of kPanelRows output rows; inside a panel the K / 32 blocks of 32 values lie chain-major: all blocks
// of chain 0 (b mod 8 == 0) in increasing b, then of chains 4, 2, 6, 1, 5, 3, 7. So one accumulator per output suffices
// and finished chains combine as the tree 4, 2, 1 closes, which is the order that the numerics contract fixes
// (docs/kernels.md, class dot). Rows beyond N and values beyond K are zero.
// Immutable once packed; any thread may multiply with it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "base/thread_team.h"
#include "device/cpu/cpu_device.h"
#include "tensor/tensor_view.h"

namespace quern::ops::cpu {

inline constexpr int kPanelRows = 8;
inline constexpr int kBlockElems = 32;
inline constexpr int kNumChains = 8;

struct PackedMatrix {
  DType dtype = DType::kF32;     // of the file
  int64_t num_rows = 0;          // N (E * N for experts)
  int64_t num_cols = 0;          // K
  int64_t num_blocks = 0;        // ceil(K / 32)
  int64_t panel_bytes = 0;       // bytes of one panel of 8 rows
  device::cpu::HostBuffer data;  // [ceil(N / 8) panels]
};

// Repacks on all threads of the team, streaming over the source. Any float dtype; K a multiple of the block size
// (readers have checked). ResourceExhausted when memory is refused.
Result<PackedMatrix> PackMatrix(const TensorView& source, ThreadTeam& team);
// Bytes that PackMatrix will allocate.
int64_t PackedBytes(DType dtype, int64_t num_rows, int64_t num_cols);

}  // namespace quern::ops::cpu
