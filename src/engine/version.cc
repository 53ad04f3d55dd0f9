#include "quern/version.h"

#include <fmt/format.h>

#include "device/cpu/cpu_device.h"

namespace quern {

BuildInfo GetBuildInfo() {
  BuildInfo info;
  info.version = QUERN_VERSION;
  info.commit = QUERN_COMMIT;
  info.build_type = QUERN_BUILD_TYPE;
  info.compiler = fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#ifdef __clang__
  info.compiler = "clang " __clang_version__;
#endif
  const device::cpu::CpuFeatures& host = device::cpu::CpuFeatures::Host();
  info.backends.push_back(fmt::format("cpu {}", device::cpu::NameOf(device::cpu::BestIsa(host))));
  return info;
}

}  // namespace quern
