#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "device/cpu/cgroup.h"

namespace quern::device::cpu {
namespace {

// Processors of the affinity mask. The mask is grown until the kernel accepts it: cpu_set_t ends at 1,024.
int AffinityCount() {
  for (int capacity = 1024; capacity <= (1 << 18); capacity *= 2) {
    cpu_set_t* mask = CPU_ALLOC(capacity);
    if (mask == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    CPU_ZERO_S(bytes, mask);
    const int status = ::sched_getaffinity(0, bytes, mask);
    const int count = status == 0 ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return count;
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

CpuDevice::CpuDevice(const CpuDeviceOptions& options)
    : isa_(options.isa), team_(options.num_threads > 0 ? options.num_threads : UsableProcessors()) {}

int CpuDevice::UsableProcessors() {
  int count = AffinityCount();
  // A quota of 1.5 processors runs one spinning thread well and two badly: the group is stopped for the rest of the
  // period.
  if (const auto quota = ReadCgroupLimits().processors; quota && *quota < count) count = static_cast<int>(*quota);
  return std::max(1, count);
}

int64_t CpuDevice::UsableMemoryBytes() {
  const int64_t physical = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return std::min(physical, ReadCgroupLimits().memory_bytes.value_or(physical));
}

}  // namespace quern::device::cpu
