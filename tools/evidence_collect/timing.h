// Times of matrix products with cold weights: a captured graph of launches over rotating copies of the weights, so that
// nothing is found in L2, as in a decode step.
#pragma once

#include <string>
#include <vector>

#include "tools/evidence_collect/device_kernel.h"

namespace quern::evidence {

struct Product {
  std::string name;  // "head"
  uint32_t n, k;
};

struct ProductTime {
  const DeviceKernel* kernel;
  double us;  // median of the replays, per launch
};

// Weights of random bits (zeros would run faster) and activations for everything that is timed.
class TimingBench {
 public:
  static Result<TimingBench> Make(device::cuda::CudaDevice& device, size_t pool_bytes);

  // Bytes per second of a copy-free read of the pool is what a product can reach at most; a product reads its weights
  // once. One product by every kernel that serves it, fastest first.
  Result<std::vector<ProductTime>> Time(const DeviceKernels& kernels, DType format, const Product& product,
                                        uint32_t rows);
  // All products in order, each by the fastest of its kernels, in one graph: microseconds for one pass.
  Result<double> TimeSequence(const std::vector<std::pair<Product, const DeviceKernel*>>& sequence, uint32_t rows);

  static uint64_t WeightBytes(DType format, const Product& product);

 private:
  explicit TimingBench(device::cuda::CudaDevice& device) : device_(&device) {}
  Status Launch(const DeviceKernel& kernel, const Product& product, uint32_t rows, size_t& at);

  device::cuda::CudaDevice* device_;
  device::cuda::CudaBuffer pool_, q_, d_, isum_, y_;
};

}  // namespace quern::evidence
