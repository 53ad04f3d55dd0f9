#include "tools/evidence_collect/device_kernel.h"

#include "base/file.h"
#include "base/hash.h"
#include "kernels/ir/gen/generate.h"
#include "kernels/ir/interpreter.h"
#include "kernels/lower/identity.h"

namespace quern::evidence {

using kernels::ir::EvaluateOverParams;

bool DeviceKernel::Serves(std::span<const uint32_t> params) const {
  for (size_t i = 0; i < params.size(); ++i) {
    const kernels::ir::Param& p = kernel.params[i];
    if (p.type == kernels::ir::Scalar::kU32 &&
        (params[i] < p.min || params[i] > p.max || params[i] % p.multiple_of != 0))
      return false;
  }
  return true;
}

uint64_t DeviceKernel::BufferBytes(size_t buffer, std::span<const uint32_t> params) const {
  return EvaluateOverParams(kernel, kernel.buffers[buffer].min_bytes, params);
}

qk_args DeviceKernel::Arguments(std::span<const uint32_t> params,
                                std::span<const device::cuda::CuPointer> buffers) const {
  qk_args args{};
  for (size_t i = 0; i < buffers.size(); ++i) args.buffer[i] = reinterpret_cast<void*>(buffers[i]);
  for (size_t i = 0; i < params.size(); ++i) args.u[i] = params[i];
  args.tiles = static_cast<uint32_t>(EvaluateOverParams(kernel, kernel.num_tiles, params));
  return args;
}

Result<DeviceKernels> DeviceKernels::Load(device::cuda::CudaDevice& device, const std::filesystem::path& folder) {
  DeviceKernels out;
  std::map<std::string, std::pair<size_t, std::string>> modules;  // file -> index, sha256
  for (const kernels::CatalogueEntry& entry : kernels::Catalogue()) {
    const std::string file = entry.file();
    if (!modules.contains(file)) {
      QUERN_ASSIGN_OR_RETURN(const std::string image, ReadFile(folder / (file + ".cubin")));
      QUERN_ASSIGN_OR_RETURN(auto module, device.LoadModule(image.data()));
      out.modules_.push_back(std::move(module));
      modules[file] = {out.modules_.size() - 1, Sha256Hex(image)};
    }
    const auto& [index, sha256] = modules[file];
    QUERN_ASSIGN_OR_RETURN(auto kernel, kernels::ir::gen::Generate(entry.descriptor, entry.schedule));
    QUERN_ASSIGN_OR_RETURN(const auto function,
                           device.Find(out.modules_[index], kernel.symbol, kernel.threads(), kernel.shared_bytes()));
    const std::string source =
        kernels::lower::CudaSourceSha256({&kernel, CanonicalText(entry.descriptor), CanonicalText(entry.schedule)});
    out.kernels_.push_back({entry, std::move(kernel), function, source, sha256});
  }
  return out;
}

}  // namespace quern::evidence
