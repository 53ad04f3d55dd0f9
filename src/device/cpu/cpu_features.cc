#include <fstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "device/cpu/cpu_device.h"

namespace quern::device::cpu {
namespace {

// "model name" on x86; other kernels name the processor elsewhere or not at all.
std::string ReadModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

CpuFeatures Detect() {
  CpuFeatures features;
  features.model_name = ReadModelName();
#if defined(__x86_64__)
  // __builtin_cpu_supports also asks whether the operating system saves the wide registers.
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  features.avx2 = features.avx2 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
  features.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  features.avx512_vnni = features.avx512 && __builtin_cpu_supports("avx512vnni");
  constexpr unsigned kAvxVnniBit = 1u << 4;  // leaf 7, subleaf 1, EAX
  features.avx_vnni = features.avx2 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & kAvxVnniBit) != 0;
#endif
  return features;
}

}  // namespace

const CpuFeatures& CpuFeatures::Host() {
  static const CpuFeatures features = Detect();
  return features;
}

std::string CpuFeatures::ToString() const {
  std::string text;
  const auto append = [&text](bool present, std::string_view name) {
    if (!present) return;
    if (!text.empty()) text += ' ';
    text += name;
  };
  append(avx2, "avx2");
  append(avx512, "avx512");
  append(avx512_vnni, "vnni");
  append(avx_vnni && !avx512_vnni, "avx-vnni");
  return text.empty() ? "baseline" : text;
}

std::string_view NameOf(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "portable";
}

Isa BestIsa(const CpuFeatures& features) { return features.avx2 ? Isa::kAvx2 : Isa::kPortable; }

}  // namespace quern::device::cpu
