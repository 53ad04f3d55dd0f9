// The identity of a kernel's text: what a record of evidence and a cache entry are about.
#pragma once

#include <string>
#include <string_view>

#include "kernels/lower/c_style.h"

namespace quern::kernels::lower {

// The headers that emitted CUDA text includes, by name: needed to compile it at run time.
struct DeviceHeader {
  std::string_view name, text;
};
inline constexpr int kNumDeviceHeaders = 3;
const DeviceHeader (&DeviceHeaders())[kNumDeviceHeaders];

// SHA-256 over the names and texts of the device headers.
const std::string& DeviceTextSha256();
// SHA-256 of the CUDA text of this kernel alone, so that a change of its neighbours in a file is none of it.
std::string CudaSourceSha256(const Source& source);

}  // namespace quern::kernels::lower
