// One CUDA device in its primary context: memory, modules, launches, timing. RAII over device/cuda/driver.h; it knows
// nothing of what is computed.
//
// A CudaDevice and what it made belong to one thread at a time; the context is made current by Open on the calling
// thread. Objects must not outlive their device. Destructors ignore errors: the context is lost anyway when one occurs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/cuda/driver.h"

namespace quern::device::cuda {

struct CudaProperties {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90
  int num_multiprocessors = 0;
  int max_shared_bytes = 0;  // per block, after opting in
  int l2_bytes = 0;
  int driver_version = 0;  // 13000
  size_t memory_bytes = 0;
};

class CudaBuffer {
 public:
  CudaBuffer() = default;
  CudaBuffer(CudaBuffer&& other) noexcept { *this = std::move(other); }
  CudaBuffer& operator=(CudaBuffer&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~CudaBuffer();

  CuPointer pointer() const { return pointer_; }
  size_t bytes() const { return bytes_; }

 private:
  friend class CudaDevice;
  const Driver* driver_ = nullptr;
  CuPointer pointer_ = 0;
  size_t bytes_ = 0;
};

// Loaded code.
class CudaModule {
 public:
  CudaModule() = default;
  CudaModule(CudaModule&& other) noexcept { *this = std::move(other); }
  CudaModule& operator=(CudaModule&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(module_, other.module_);
    return *this;
  }
  ~CudaModule();

 private:
  friend class CudaDevice;
  const Driver* driver_ = nullptr;
  CuModule module_ = nullptr;
};

struct CudaFunction {
  CuFunction function = nullptr;
  uint32_t threads = 0, shared_bytes = 0;
  int registers = 0, local_bytes = 0, blocks_per_multiprocessor = 0;
};

class CudaDevice {
 public:
  static Result<std::unique_ptr<CudaDevice>> Open(int ordinal);
  ~CudaDevice();

  const CudaProperties& properties() const { return properties_; }

  Result<CudaBuffer> Allocate(size_t bytes);
  Status Upload(const CudaBuffer& to, std::span<const std::byte> from, size_t offset = 0);
  Status Download(std::span<std::byte> to, const CudaBuffer& from, size_t offset = 0);
  Status Fill(const CudaBuffer& to, uint8_t value);

  Result<CudaModule> LoadModule(const void* image);
  // A function that will be launched with that many threads and dynamic shared bytes.
  Result<CudaFunction> Find(const CudaModule& module, const std::string& symbol, uint32_t threads,
                            uint32_t shared_bytes);

  // Asynchronous, on the device's stream. `argument` is the kernel's only parameter, passed by value.
  Status Launch(const CudaFunction& function, uint32_t grid, const void* argument);
  Status Synchronize();
  // Captures what `record` launches into a graph, replays it `repeats` times after one warm-up, and gives the
  // milliseconds of each replay.
  Result<std::vector<float>> TimeGraph(const std::function<Status()>& record, int repeats);

 private:
  CudaDevice() = default;
  Status Init(int ordinal);

  const Driver* driver_ = nullptr;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  CuStream stream_ = nullptr;
  CudaProperties properties_;
};

}  // namespace quern::device::cuda
