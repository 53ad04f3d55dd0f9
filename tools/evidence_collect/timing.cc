#include "tools/evidence_collect/timing.h"

#include <algorithm>
#include <random>

#include "kernels/layout/qa8_tile.h"
#include "kernels/layout/rp16.h"
#include "tensor/code_form.h"

namespace quern::evidence {
namespace {

constexpr int kReplays = 7;

double Median(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

Result<TimingBench> TimingBench::Make(device::cuda::CudaDevice& device, size_t pool_bytes) {
  TimingBench bench(device);
  QUERN_ASSIGN_OR_RETURN(bench.pool_, device.Allocate(pool_bytes));
  std::vector<uint32_t> noise(16 << 20);
  std::mt19937 random(1);
  for (uint32_t& word : noise) word = random();
  const auto bytes = std::as_bytes(std::span(noise));
  for (size_t at = 0; at + bytes.size() <= pool_bytes; at += bytes.size())
    QUERN_TRY(device.Upload(bench.pool_, bytes, at));
  const auto planes = kernels::Qa8TileBytesOf(64, 65536);
  const auto make = [&](int64_t size) -> Result<device::cuda::CudaBuffer> {
    QUERN_ASSIGN_OR_RETURN(auto buffer, device.Allocate(static_cast<size_t>(size)));
    QUERN_TRY(device.Upload(buffer, bytes.first(std::min(bytes.size(), static_cast<size_t>(size)))));
    return buffer;
  };
  QUERN_ASSIGN_OR_RETURN(bench.q_, make(planes.q));
  QUERN_ASSIGN_OR_RETURN(bench.d_, make(planes.d));
  QUERN_ASSIGN_OR_RETURN(bench.isum_, make(planes.isum));
  QUERN_ASSIGN_OR_RETURN(bench.y_, make(int64_t{64} * 262144 * 4));
  return bench;
}

uint64_t TimingBench::WeightBytes(DType format, const Product& product) {
  return static_cast<uint64_t>(kernels::Rp16Bytes(format, product.n, product.k));
}

Status TimingBench::Launch(const DeviceKernel& kernel, const Product& product, uint32_t rows, size_t& at) {
  const DType format = kernel.entry.descriptor.weights[0].format;
  const uint64_t bytes = (WeightBytes(format, product) + 255) / 256 * 256;
  if (at + bytes > pool_.bytes()) at = 0;
  std::vector<device::cuda::CuPointer> pointers = {pool_.pointer() + at, q_.pointer(), d_.pointer()};
  if (CodeFormOf(format).has_min) pointers.push_back(isum_.pointer());
  pointers.push_back(y_.pointer());
  at += bytes;
  const uint32_t params[] = {rows, product.n, product.k / 32};
  const qk_args args = kernel.Arguments(params, pointers);
  return device_->Launch(kernel.function, args.tiles, &args);
}

Result<std::vector<ProductTime>> TimingBench::Time(const DeviceKernels& kernels, DType format, const Product& product,
                                                   uint32_t rows) {
  const uint64_t bytes = WeightBytes(format, product);
  const int launches = static_cast<int>(std::clamp<uint64_t>(pool_.bytes() / bytes, 12, 100));
  std::vector<ProductTime> times;
  for (const DeviceKernel& kernel : kernels.all()) {
    const uint32_t params[] = {rows, product.n, product.k / 32};
    if (kernel.entry.descriptor.family != kernels::Family::kMatmul ||
        kernel.entry.descriptor.weights[0].format != format || !kernel.Serves(params))
      continue;
    size_t at = 0;
    QUERN_ASSIGN_OR_RETURN(const auto ms, device_->TimeGraph(
                                              [&]() -> Status {
                                                for (int i = 0; i < launches; ++i)
                                                  QUERN_TRY(Launch(kernel, product, rows, at));
                                                return {};
                                              },
                                              kReplays));
    times.push_back({&kernel, Median(ms) * 1000 / launches});
  }
  std::sort(times.begin(), times.end(), [](const ProductTime& a, const ProductTime& b) { return a.us < b.us; });
  return times;
}

Result<double> TimingBench::TimeSequence(const std::vector<std::pair<Product, const DeviceKernel*>>& sequence,
                                         uint32_t rows) {
  size_t at = 0;
  constexpr int kPasses = 40;
  QUERN_ASSIGN_OR_RETURN(const auto ms, device_->TimeGraph(
                                            [&]() -> Status {
                                              for (int i = 0; i < kPasses; ++i) {
                                                for (const auto& [product, kernel] : sequence)
                                                  QUERN_TRY(Launch(*kernel, product, rows, at));
                                              }
                                              return {};
                                            },
                                            kReplays));
  return Median(ms) * 1000 / kPasses;
}

}  // namespace quern::evidence
