// The scalar codec of every format: the slow, obvious reference that all kernels are tested against, and the encoder
// behind `quern quantize`.
//
// Decoding follows the closed forms of docs/formats/quant.md with one rounding per operation in this order: the f32
// product d * scale first, then times the code, then minus the f32 product dmin * min. No fused operations, so that
// interpreter, CPU and GPU "dense" paths agree bit for bit.
// All functions are pure and may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "tensor/dtype.h"

namespace quern {

// Decodes out.size() values, a multiple of the block size, from the blocks at `blocks`. NaN and infinities pass
// through. Integer DTypes (I8 ... I64) and F64 convert to the nearest float.
void DecodeRow(DType type, const std::byte* blocks, std::span<float> out);

// Encodes values.size() values, a multiple of the block size. `weights` is empty, or holds one importance per value
// (an importance matrix row), which the K-quants and IQ4 use in their least-squares search.
// Supported for every float format of dtype.h. Non-finite input is InvalidArgument (the message gives its index).
Status EncodeRow(DType type, std::span<const float> values, std::span<const float> weights, std::byte* blocks);

// Whether bits that may not occur are absent: MXFP4 with the NaN exponent 255 is Corrupt. Cheap, run at load.
Status ValidateBlocks(DType type, const std::byte* blocks, int64_t num_blocks);

}  // namespace quern
