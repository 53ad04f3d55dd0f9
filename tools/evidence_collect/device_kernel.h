// A kernel of the catalogue on a CUDA device: loading, argument records, launches. For tools and tests.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "kernels/descriptor/catalogue.h"
#include "kernels/ir/kernel.h"
#include "kernels/lower/device_text/qk_args.h"

namespace quern::evidence {

struct DeviceKernel {
  kernels::CatalogueEntry entry;
  kernels::ir::Kernel kernel;
  device::cuda::CudaFunction function;
  std::string source_sha256, binary_sha256;

  // Whether the launch is within the ranges of the kernel's parameters.
  bool Serves(std::span<const uint32_t> params) const;
  uint64_t BufferBytes(size_t buffer, std::span<const uint32_t> params) const;
  // The argument record of a launch; pointers in the order of the kernel's buffers.
  qk_args Arguments(std::span<const uint32_t> params, std::span<const device::cuda::CuPointer> buffers) const;
};

// The kernels of the catalogue from a folder of cubins, one for each artifact file: "matmul_q4_0.cubin".
class DeviceKernels {
 public:
  static Result<DeviceKernels> Load(device::cuda::CudaDevice& device, const std::filesystem::path& folder);
  const std::vector<DeviceKernel>& all() const { return kernels_; }

 private:
  std::vector<device::cuda::CudaModule> modules_;
  std::vector<DeviceKernel> kernels_;
};

}  // namespace quern::evidence
