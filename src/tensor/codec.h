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
// (an importance matrix row: finite, not negative, in any unit), which Q4_0 to Q5_1, the K-quants and IQ4 use in their
// least-squares searches. Plain Q4_0 to Q8_0 and MXFP4 give the bytes of ggml's reference encoders.
// Supported for every float format of dtype.h; an integer DType is Unsupported. Non-finite input, and magnitudes whose
// stored scale or value would round to infinity (65520 and more for F16, the K-quants and IQ4), are InvalidArgument
// and the message gives the index. On an error nothing is written.
Status EncodeRow(DType type, std::span<const float> values, std::span<const float> weights, std::byte* blocks);

// Whether bits that may not occur are absent: MXFP4 with the NaN exponent 255 is Corrupt. Cheap, run at load.
Status ValidateBlocks(DType type, const std::byte* blocks, int64_t num_blocks);

}  // namespace quern
