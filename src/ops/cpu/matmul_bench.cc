// Products at the shapes of Gemma 4 E2B, per format and number of rows, next to the speed at which the same threads can
// read memory. Counters: GB/s of packed weights (one row), GFLOP/s (two per multiply-add).
//
// The weights of one case are larger than the last-level cache or rotate through several copies, as layers of a model
// do.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "device/cpu/cpu_device.h"
#include "ops/cpu/matmul.h"

namespace quern::ops::cpu {
namespace {

constexpr int64_t kStreamedBytes = int64_t{160} << 20;

device::cpu::CpuDevice& Device(int threads) {
  static device::cpu::CpuDevice one({.num_threads = 1}), two({.num_threads = 2});
  return threads == 1 ? one : two;
}

// File bytes without structure but with finite scales: every two bytes read as f16 are small.
std::vector<std::byte> MakeFile(const TensorView& view) {
  std::vector<std::byte> bytes(static_cast<size_t>(view.num_bytes()));
  uint32_t state = 1;
  for (std::byte& b : bytes) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>((state >> 24) & 0x3B);
  }
  return bytes;
}

PackedMatrix Pack(DType dtype, int64_t rows, int64_t cols) {
  TensorView view{nullptr, dtype, {rows, cols}};
  const std::vector<std::byte> bytes = MakeFile(view);
  view.data = bytes.data();
  return std::move(*PackMatrix(view, Device(2).team()));
}

struct Inputs {
  std::vector<float> f32, d;
  std::vector<int8_t> q;
  std::vector<int16_t> isum;
  Activations view;

  Inputs(device::cpu::Isa isa, int64_t rows, int64_t cols) {
    std::vector<float> x(static_cast<size_t>(rows * cols));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) - 50.0f;
    const int64_t blocks = (cols + 31) / 32;
    f32.resize(rows * blocks * 32);
    q.resize(f32.size());
    d.resize(rows * blocks);
    isum.resize(rows * blocks * 2);
    PrepareF32(isa, x.data(), cols, rows, cols, f32.data());
    PrepareQa8(isa, x.data(), cols, rows, cols, q.data(), d.data(), isum.data());
    view = {rows, blocks, f32.data(), q.data(), d.data(), isum.data()};
  }
};

void RunProduct(benchmark::State& state, DType dtype, int64_t n, int64_t k, int64_t rows, int threads) {
  device::cpu::CpuDevice& device = Device(threads);
  const int64_t bytes = PackedBytes(dtype, n, k);
  std::vector<PackedMatrix> layers;
  do layers.push_back(Pack(dtype, n, k));
  while (static_cast<int64_t>(layers.size()) * bytes < (rows == 1 ? kStreamedBytes : 1));
  const Inputs x(device.isa(), rows, k);
  std::vector<float> y(static_cast<size_t>(rows * n));
  const MatmulKernel& kernel = FindMatmul(dtype, device.isa(), Numerics::kDefault);
  size_t layer = 0;
  for (auto _ : state) {
    const PackedMatrix& weight = layers[layer++ % layers.size()];
    device.team().For((n + 7) / 8, 2,
                      [&](int64_t begin, int64_t end) { kernel.run(weight, x.view, begin, end, y.data(), n); });
    benchmark::DoNotOptimize(y.data());
  }
  const double runs = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(runs * static_cast<double>(bytes) * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(runs * 2e-9 * static_cast<double>(n * k * rows), benchmark::Counter::kIsRate);
}

void RunRead(benchmark::State& state, int threads) {
  device::cpu::CpuDevice& device = Device(threads);
  device::cpu::HostBuffer buffer = std::move(*device::cpu::HostBuffer::Allocate(kStreamedBytes));
  const std::span<uint64_t> words = buffer.as<uint64_t>();
  std::fill(words.begin(), words.end(), 1);
  for (auto _ : state) {
    device.team().For(static_cast<int64_t>(words.size()), 64, [&](int64_t begin, int64_t end) {
      uint64_t sums[16] = {};
      for (int64_t i = begin; i + 16 <= end; i += 16) {
        for (int j = 0; j < 16; ++j) sums[j] += words[i + j];
      }
      for (uint64_t& sum : sums) benchmark::DoNotOptimize(sum);
    });
  }
  const double bytes = static_cast<double>(state.iterations()) * static_cast<double>(kStreamedBytes);
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsRate);
}

void RunPack(benchmark::State& state, DType dtype) {
  TensorView view{nullptr, dtype, {4096, 1536}};
  const std::vector<std::byte> bytes = MakeFile(view);
  view.data = bytes.data();
  for (auto _ : state) benchmark::DoNotOptimize(PackMatrix(view, Device(1).team())->data.data());
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(view.num_bytes()) * 1e-9,
                         benchmark::Counter::kIsRate);
}

void Register() {
  struct Shape {
    const char* name;
    int64_t n, k;
  };
  constexpr DType kFormats[] = {DType::kQ4_0, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kBF16};
  for (const int threads : {1, 2}) {
    benchmark::RegisterBenchmark(fmt::format("read/t{}", threads).c_str(), [threads](benchmark::State& state) {
      RunRead(state, threads);
    })->UseRealTime();
    for (const DType dtype : kFormats) {
      for (const Shape& shape : {Shape{"up", 12288, 1536}, Shape{"down", 1536, 6144}, Shape{"head", 262144, 1536}}) {
        const bool is_head = shape.n == 262144;
        if (is_head && dtype != DType::kQ6_K && dtype != DType::kQ8_0) continue;
        for (const int64_t rows : {1, 4, 64, 512}) {
          if (is_head && rows != 1) continue;
          benchmark::RegisterBenchmark(
              fmt::format("{}/{}/m{}/t{}", NameOf(dtype), shape.name, rows, threads).c_str(),
              [=](benchmark::State& state) { RunProduct(state, dtype, shape.n, shape.k, rows, threads); })
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
  for (const DType dtype : kFormats) {
    benchmark::RegisterBenchmark(fmt::format("pack/{}", NameOf(dtype)).c_str(), [dtype](benchmark::State& state) {
      RunPack(state, dtype);
    })->UseRealTime();
  }
}

[[maybe_unused]] const bool kRegistered = (Register(), true);

}  // namespace
}  // namespace quern::ops::cpu
