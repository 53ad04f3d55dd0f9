#include "device/cuda/driver.h"

#include <string>

#include <dlfcn.h>

namespace quern::device::cuda {
namespace {

Result<Driver> Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return WithHint(Fail(Code::kNotFound, "no CUDA driver: libcuda.so.1 cannot be opened"),
                    "install the NVIDIA driver, or run on the CPU");
  Driver d{};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing.empty()) missing = name;
  };
  find(d.init, "cuInit");
  find(d.driver_version, "cuDriverGetVersion");
  find(d.device_count, "cuDeviceGetCount");
  find(d.device_get, "cuDeviceGet");
  find(d.device_name, "cuDeviceGetName");
  find(d.device_attribute, "cuDeviceGetAttribute");
  find(d.device_memory, "cuDeviceTotalMem_v2");
  find(d.context_retain, "cuDevicePrimaryCtxRetain");
  find(d.context_release, "cuDevicePrimaryCtxRelease_v2");
  find(d.context_set, "cuCtxSetCurrent");
  find(d.context_synchronize, "cuCtxSynchronize");
  find(d.memory_allocate, "cuMemAlloc_v2");
  find(d.memory_free, "cuMemFree_v2");
  find(d.copy_to_device, "cuMemcpyHtoD_v2");
  find(d.copy_to_host, "cuMemcpyDtoH_v2");
  find(d.memset_u8, "cuMemsetD8_v2");
  find(d.module_load, "cuModuleLoadData");
  find(d.module_unload, "cuModuleUnload");
  find(d.module_function, "cuModuleGetFunction");
  find(d.function_attribute, "cuFuncGetAttribute");
  find(d.function_set_attribute, "cuFuncSetAttribute");
  find(d.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(d.launch, "cuLaunchKernel");
  find(d.stream_create, "cuStreamCreate");
  find(d.stream_destroy, "cuStreamDestroy_v2");
  find(d.stream_synchronize, "cuStreamSynchronize");
  find(d.stream_begin_capture, "cuStreamBeginCapture_v2");
  find(d.stream_end_capture, "cuStreamEndCapture");
  find(d.graph_instantiate, "cuGraphInstantiateWithFlags");
  find(d.graph_launch, "cuGraphLaunch");
  find(d.graph_exec_destroy, "cuGraphExecDestroy");
  find(d.graph_destroy, "cuGraphDestroy");
  find(d.event_create, "cuEventCreate");
  find(d.event_destroy, "cuEventDestroy_v2");
  find(d.event_record, "cuEventRecord");
  find(d.event_synchronize, "cuEventSynchronize");
  find(d.event_elapsed, "cuEventElapsedTime");
  find(d.error_name, "cuGetErrorName");
  if (!missing.empty())
    return WithHint(Fail(Code::kNotFound, "the CUDA driver has no function {}", missing), "update the NVIDIA driver");
  if (auto status = d.Check(d.init(0), "cuInit"); !status) return tl::unexpected(std::move(status).error());
  return d;
}

}  // namespace

Result<const Driver*> Driver::Load() {
  static const Result<Driver> driver = Open();
  if (!driver) return tl::unexpected(driver.error());
  return &*driver;
}

Status Driver::Check(CuResult result, std::string_view call) const {
  if (result == 0) return {};
  const char* name = nullptr;
  if (error_name == nullptr || error_name(result, &name) != 0 || name == nullptr) name = "unknown error";
  constexpr CuResult kOutOfMemory = 2;
  return Fail(result == kOutOfMemory ? Code::kResourceExhausted : Code::kUnavailable, "{}: {} ({})", call, name,
              result);
}

}  // namespace quern::device::cuda
