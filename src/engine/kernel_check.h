// A product of a small matrix with the kernels that this processor gets, compared with the portable ones: shows in a
// millisecond a build or a machine whose vector units compute something else.
#pragma once

#include "base/status.h"
#include "device/cpu/cpu_device.h"

namespace quern::engine {

// Ok when all kernels agree bit for bit, as their contract demands (ops/cpu/matmul.h), and are close to a product in
// f64. Internal names the first that does not.
Status CheckKernels(device::cpu::Isa isa);

}  // namespace quern::engine
