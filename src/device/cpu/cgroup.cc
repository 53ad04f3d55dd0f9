#include "device/cpu/cgroup.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace quern::device::cpu {
namespace {

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The first number of a file; absent for "max" and for anything else that is no number.
std::optional<int64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = ReadText(path);
  if (!text) return std::nullopt;
  std::istringstream stream(*text);
  int64_t value = 0;
  if (!(stream >> value)) return std::nullopt;
  return value;
}

void LimitProcessors(CgroupLimits& limits, int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return;  // version 1 writes -1 for "no limit"
  const double processors = static_cast<double>(quota) / static_cast<double>(period);
  limits.processors = std::min(limits.processors.value_or(processors), processors);
}

void LimitMemory(CgroupLimits& limits, std::optional<int64_t> bytes) {
  // Version 1 writes a number near 2^63 for "no limit".
  if (!bytes || *bytes <= 0 || *bytes > (int64_t{1} << 60)) return;
  limits.memory_bytes = std::min(limits.memory_bytes.value_or(*bytes), *bytes);
}

void ReadVersion2(CgroupLimits& limits, const std::string& folder) {
  if (const std::optional<std::string> text = ReadText(folder + "/cpu.max")) {
    std::istringstream stream(*text);
    int64_t quota = 0, period = 0;
    if (stream >> quota >> period) LimitProcessors(limits, quota, period);  // "max 100000" fails to parse: no limit
  }
  LimitMemory(limits, ReadNumber(folder + "/memory.max"));
}

void ReadVersion1Cpu(CgroupLimits& limits, const std::string& folder) {
  const std::optional<int64_t> quota = ReadNumber(folder + "/cpu.cfs_quota_us");
  const std::optional<int64_t> period = ReadNumber(folder + "/cpu.cfs_period_us");
  if (quota && period) LimitProcessors(limits, *quota, *period);
}

// "/a/b" -> "/a/b", "/a", "": the group and its ancestors. Inside a container the path may name a folder that is not
// visible here; the mount's root is then the container's own group.
std::vector<std::string> Ancestors(std::string path) {
  std::vector<std::string> result;
  while (!path.empty() && path != "/") {
    result.push_back(path);
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  result.emplace_back();
  return result;
}

bool NamesController(const std::string& controllers, std::string_view wanted) {
  std::istringstream stream(controllers);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

}  // namespace

CgroupLimits ReadCgroupLimits(std::string_view proc_cgroup, const std::string& mount) {
  CgroupLimits limits;
  std::istringstream lines{std::string(proc_cgroup)};
  for (std::string line; std::getline(lines, line);) {  // "hierarchy:controllers:path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    for (const std::string& path : Ancestors(line.substr(second + 1))) {
      if (controllers.empty()) ReadVersion2(limits, mount + path);
      if (NamesController(controllers, "cpu")) {
        ReadVersion1Cpu(limits, mount + "/cpu" + path);
        ReadVersion1Cpu(limits, mount + "/" + controllers + path);
      }
      if (NamesController(controllers, "memory")) {
        LimitMemory(limits, ReadNumber(mount + "/memory" + path + "/memory.limit_in_bytes"));
      }
    }
  }
  return limits;
}

CgroupLimits ReadCgroupLimits() {
  const std::optional<std::string> text = ReadText("/proc/self/cgroup");
  return text ? ReadCgroupLimits(*text, "/sys/fs/cgroup") : CgroupLimits{};
}

}  // namespace quern::device::cpu
