#include "device/cuda/cuda_device.h"

#include "base/check.h"

namespace quern::device::cuda {
namespace {

// Attributes of devices and functions, by the driver's numbers.
constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76, kSharedOptIn = 97;
constexpr int kFunctionLocalBytes = 3, kFunctionRegisters = 4, kFunctionMaxDynamicShared = 8;
constexpr unsigned kNonBlockingStream = 1;
constexpr int kCaptureThreadLocal = 1;

}  // namespace

CudaBuffer::~CudaBuffer() {
  if (pointer_ != 0) static_cast<void>(driver_->memory_free(pointer_));
}

CudaModule::~CudaModule() {
  if (module_ != nullptr) static_cast<void>(driver_->module_unload(module_));
}

CudaDevice::~CudaDevice() {
  if (stream_ != nullptr) static_cast<void>(driver_->stream_destroy(stream_));
  if (context_ != nullptr) static_cast<void>(driver_->context_release(device_));
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open(int ordinal) {
  std::unique_ptr<CudaDevice> device(new CudaDevice);
  QUERN_ASSIGN_OR_RETURN(device->driver_, Driver::Load());
  QUERN_TRY(device->Init(ordinal));
  return device;
}

Status CudaDevice::Init(int ordinal) {
  int count = 0;
  QUERN_TRY(driver_->Check(driver_->device_count(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count)
    return Fail(Code::kNotFound, "no CUDA device {}: the driver sees {}", ordinal, count);
  QUERN_TRY(driver_->Check(driver_->device_get(&device_, ordinal), "cuDeviceGet"));
  char name[256] = {};
  QUERN_TRY(driver_->Check(driver_->device_name(name, sizeof name - 1, device_), "cuDeviceGetName"));
  properties_.name = name;
  QUERN_TRY(driver_->Check(driver_->driver_version(&properties_.driver_version), "cuDriverGetVersion"));
  QUERN_TRY(driver_->Check(driver_->device_memory(&properties_.memory_bytes, device_), "cuDeviceTotalMem"));
  int major = 0, minor = 0;
  const std::pair<int, int*> attributes[] = {{kMultiprocessors, &properties_.num_multiprocessors},
                                             {kL2Bytes, &properties_.l2_bytes},
                                             {kSharedOptIn, &properties_.max_shared_bytes},
                                             {kMajor, &major},
                                             {kMinor, &minor}};
  for (const auto& [attribute, value] : attributes)
    QUERN_TRY(driver_->Check(driver_->device_attribute(value, attribute, device_), "cuDeviceGetAttribute"));
  properties_.compute_capability = 10 * major + minor;
  QUERN_TRY(driver_->Check(driver_->context_retain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  QUERN_TRY(driver_->Check(driver_->context_set(context_), "cuCtxSetCurrent"));
  return driver_->Check(driver_->stream_create(&stream_, kNonBlockingStream), "cuStreamCreate");
}

Result<CudaBuffer> CudaDevice::Allocate(size_t bytes) {
  CudaBuffer buffer;
  buffer.driver_ = driver_;
  auto status = driver_->Check(driver_->memory_allocate(&buffer.pointer_, bytes == 0 ? 16 : bytes), "cuMemAlloc");
  if (!status)
    return WithFrame(std::move(status).error(), fmt::format("allocating {} bytes on {}", bytes, properties_.name));
  buffer.bytes_ = bytes;
  return buffer;
}

Status CudaDevice::Upload(const CudaBuffer& to, std::span<const std::byte> from, size_t offset) {
  QUERN_CHECK(offset + from.size() <= to.bytes());
  return driver_->Check(driver_->copy_to_device(to.pointer() + offset, from.data(), from.size()), "cuMemcpyHtoD");
}

Status CudaDevice::Download(std::span<std::byte> to, const CudaBuffer& from, size_t offset) {
  QUERN_CHECK(offset + to.size() <= from.bytes());
  return driver_->Check(driver_->copy_to_host(to.data(), from.pointer() + offset, to.size()), "cuMemcpyDtoH");
}

Status CudaDevice::Fill(const CudaBuffer& to, uint8_t value) {
  QUERN_TRY(driver_->Check(driver_->memset_u8(to.pointer(), value, to.bytes()), "cuMemsetD8"));
  return driver_->Check(driver_->context_synchronize(), "cuCtxSynchronize");
}

Result<CudaModule> CudaDevice::LoadModule(const void* image) {
  CudaModule module;
  module.driver_ = driver_;
  QUERN_TRY(driver_->Check(driver_->module_load(&module.module_, image), "cuModuleLoadData"));
  return module;
}

Result<CudaFunction> CudaDevice::Find(const CudaModule& module, const std::string& symbol, uint32_t threads,
                                      uint32_t shared_bytes) {
  CudaFunction f{nullptr, threads, shared_bytes, 0, 0, 0};
  QUERN_TRY(driver_->Check(driver_->module_function(&f.function, module.module_, symbol.c_str()),
                           "cuModuleGetFunction " + symbol));
  QUERN_TRY(
      driver_->Check(driver_->function_attribute(&f.registers, kFunctionRegisters, f.function), "cuFuncGetAttribute"));
  QUERN_TRY(driver_->Check(driver_->function_attribute(&f.local_bytes, kFunctionLocalBytes, f.function),
                           "cuFuncGetAttribute"));
  QUERN_TRY(driver_->Check(
      driver_->function_set_attribute(f.function, kFunctionMaxDynamicShared, static_cast<int>(shared_bytes)),
      "cuFuncSetAttribute"));
  QUERN_TRY(driver_->Check(
      driver_->occupancy(&f.blocks_per_multiprocessor, f.function, static_cast<int>(threads), shared_bytes),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  return f;
}

Status CudaDevice::Launch(const CudaFunction& f, uint32_t grid, const void* argument) {
  if (grid == 0) return {};
  void* arguments[] = {const_cast<void*>(argument)};  // the driver copies it and never writes
  return driver_->Check(
      driver_->launch(f.function, grid, 1, 1, f.threads, 1, 1, f.shared_bytes, stream_, arguments, nullptr),
      "cuLaunchKernel");
}

Status CudaDevice::Synchronize() { return driver_->Check(driver_->stream_synchronize(stream_), "cuStreamSynchronize"); }

Result<std::vector<float>> CudaDevice::TimeGraph(const std::function<Status()>& record, int repeats) {
  QUERN_TRY(driver_->Check(driver_->stream_begin_capture(stream_, kCaptureThreadLocal), "cuStreamBeginCapture"));
  const Status recorded = record();
  CuGraph graph = nullptr;
  QUERN_TRY(driver_->Check(driver_->stream_end_capture(stream_, &graph), "cuStreamEndCapture"));
  const std::shared_ptr<void> graph_owner(
      graph, [this](void* g) { static_cast<void>(driver_->graph_destroy(static_cast<CuGraph>(g))); });
  if (!recorded) return tl::unexpected(recorded.error());
  CuGraphExec exec = nullptr;
  QUERN_TRY(driver_->Check(driver_->graph_instantiate(&exec, graph, 0), "cuGraphInstantiate"));
  const std::shared_ptr<void> exec_owner(
      exec, [this](void* e) { static_cast<void>(driver_->graph_exec_destroy(static_cast<CuGraphExec>(e))); });
  CuEvent begin = nullptr, end = nullptr;
  QUERN_TRY(driver_->Check(driver_->event_create(&begin, 0), "cuEventCreate"));
  const std::shared_ptr<void> begin_owner(
      begin, [this](void* e) { static_cast<void>(driver_->event_destroy(static_cast<CuEvent>(e))); });
  QUERN_TRY(driver_->Check(driver_->event_create(&end, 0), "cuEventCreate"));
  const std::shared_ptr<void> end_owner(
      end, [this](void* e) { static_cast<void>(driver_->event_destroy(static_cast<CuEvent>(e))); });
  std::vector<float> times;
  for (int i = -1; i < repeats; ++i) {
    QUERN_TRY(driver_->Check(driver_->event_record(begin, stream_), "cuEventRecord"));
    QUERN_TRY(driver_->Check(driver_->graph_launch(exec, stream_), "cuGraphLaunch"));
    QUERN_TRY(driver_->Check(driver_->event_record(end, stream_), "cuEventRecord"));
    QUERN_TRY(driver_->Check(driver_->event_synchronize(end), "cuEventSynchronize"));
    float ms = 0;
    QUERN_TRY(driver_->Check(driver_->event_elapsed(&ms, begin, end), "cuEventElapsedTime"));
    if (i >= 0) times.push_back(ms);
  }
  return times;
}

}  // namespace quern::device::cuda
