// Version and build of this library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern {

inline constexpr std::string_view kProductName = "quern";

struct BuildInfo {
  std::string version;                // "0.1.0"
  std::string commit;                 // git hash, or "unknown"
  std::string compiler;               // "g++ 12.2.0"
  std::vector<std::string> backends;  // with the kernels that this machine will run: "cpu avx2", ...
  std::string build_type;             // of CMake: "Release", "Debug", ...
};
BuildInfo GetBuildInfo();

}  // namespace quern
