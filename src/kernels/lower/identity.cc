#include "kernels/lower/identity.h"

#include "base/hash.h"
#include "kernels/lower/cuda/emit.h"

namespace quern::kernels::lower {

const std::string& DeviceTextSha256() {
  static const std::string digest = [] {
    std::string all;
    for (const DeviceHeader& header : DeviceHeaders()) {
      all += std::to_string(header.name.size()) + " " + std::to_string(header.text.size()) + " ";
      all += header.name;
      all += header.text;
    }
    return Sha256Hex(all);
  }();
  return digest;
}

std::string CudaSourceSha256(const Source& source) { return Sha256Hex(EmitCuda({&source, 1})); }

}  // namespace quern::kernels::lower
