// Runs kernels on the device against the scalar definition: random and adversarial data, ragged shapes, guard bytes
// around every output, poison inside, and repeats that must be equal.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/evidence_collect/device_kernel.h"

namespace quern::evidence {

// The cases of one kernel as they go into its record: {shape, data, seed, mismatches, max_abs, repeats_equal,
// guards_intact, pass}. A launch that fails is an error.
Result<nlohmann::ordered_json> Conformance(device::cuda::CudaDevice& device, const DeviceKernel& kernel, int repeats);

}  // namespace quern::evidence
