// Limits that Linux control groups put on this process. A container often sees all processors and all memory of its
// host and may use a part of them; starting one thread per visible processor there makes every parallel region wait.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern::device::cpu {

struct CgroupLimits {
  std::optional<double> processors;     // quota / period
  std::optional<int64_t> memory_bytes;  // absent: unlimited
};

// Reads the limits of the group that `proc_cgroup` (the text of /proc/self/cgroup) names, and of its ancestors, below
// `mount` (/sys/fs/cgroup): version 2, and version 1 where its controllers are mounted. The tightest limit counts.
// Files that are absent or unreadable limit nothing.
CgroupLimits ReadCgroupLimits(std::string_view proc_cgroup, const std::string& mount);

// The same for this process.
CgroupLimits ReadCgroupLimits();

}  // namespace quern::device::cpu
