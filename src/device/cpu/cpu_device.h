// CpuDevice: the processor as a device: its instruction sets, its threads, and memory for weights and caches.
// One per engine; created before the models that use it and destroyed after them. One step runs on it at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/thread_team.h"

namespace quern::device::cpu {

// What the processor can do, read once with CPUID.
struct CpuFeatures {
  bool avx2 = false;    // with FMA, F16C and BMI2: the level the AVX2 kernels need
  bool avx512 = false;  // F, BW, VL, DQ
  bool avx512_vnni = false;
  bool avx_vnni = false;
  std::string model_name;  // as the operating system reports it

  static const CpuFeatures& Host();
  std::string ToString() const;  // "avx2 avx512 vnni"
};

// Which kernels to use. Chosen once from the features, or forced by a test or by QUERN_CPU_ISA.
// kAvx512 is a name without kernels: none has been tested on a processor that has it, so BestIsa never returns it, and
// whoever asks for it gets the AVX2 ones.
enum class Isa : uint8_t { kPortable, kAvx2, kAvx512 };
std::string_view NameOf(Isa isa);
// The best level of this processor for which this build has tested kernels.
Isa BestIsa(const CpuFeatures& features);

// Anonymous memory aligned to 64 bytes, zero-filled, with huge pages asked for from 2 MiB on. Move-only.
class HostBuffer {
 public:
  HostBuffer() = default;
  // ResourceExhausted with the number of bytes when the system refuses.
  static Result<HostBuffer> Allocate(size_t num_bytes);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_), size_bytes_ / sizeof(T)};
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

struct CpuDeviceOptions {
  int num_threads = 0;  // 0: the processors this process may use (affinity and cgroup limit respected)
  Isa isa = BestIsa(CpuFeatures::Host());
};

class CpuDevice {
 public:
  explicit CpuDevice(const CpuDeviceOptions& options = {});

  ThreadTeam& team() { return team_; }
  int num_threads() const { return team_.size(); }
  Isa isa() const { return isa_; }

  // Processors this process may use: affinity mask and cgroup quota, at least 1.
  static int UsableProcessors();
  // Memory this process may use, bytes: the smaller of physical memory and the cgroup limit.
  static int64_t UsableMemoryBytes();

 private:
  Isa isa_;
  ThreadTeam team_;
};

}  // namespace quern::device::cpu
