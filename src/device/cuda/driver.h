// The CUDA driver, found at run time: libcuda.so.1 is opened with dlopen, so one binary runs with and without a GPU and
// no toolkit is needed to build. Types and numbers are those of the driver's documented C interface.
//
// Load() is thread-safe and keeps the library for the life of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace quern::device::cuda {

using CuResult = int;
using CuDevice = int;
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;
using CuPointer = uint64_t;

struct Driver {
  CuResult (*init)(unsigned flags);
  CuResult (*driver_version)(int* version);
  CuResult (*device_count)(int* count);
  CuResult (*device_get)(CuDevice* device, int ordinal);
  CuResult (*device_name)(char* name, int size, CuDevice device);
  CuResult (*device_attribute)(int* value, int attribute, CuDevice device);
  CuResult (*device_memory)(size_t* bytes, CuDevice device);
  CuResult (*context_retain)(CuContext* context, CuDevice device);
  CuResult (*context_release)(CuDevice device);
  CuResult (*context_set)(CuContext context);
  CuResult (*context_synchronize)();
  CuResult (*memory_allocate)(CuPointer* pointer, size_t bytes);
  CuResult (*memory_free)(CuPointer pointer);
  CuResult (*copy_to_device)(CuPointer to, const void* from, size_t bytes);
  CuResult (*copy_to_host)(void* to, CuPointer from, size_t bytes);
  CuResult (*memset_u8)(CuPointer to, unsigned char value, size_t bytes);
  CuResult (*module_load)(CuModule* module, const void* image);
  CuResult (*module_unload)(CuModule module);
  CuResult (*module_function)(CuFunction* function, CuModule module, const char* name);
  CuResult (*function_attribute)(int* value, int attribute, CuFunction function);
  CuResult (*function_set_attribute)(CuFunction function, int attribute, int value);
  CuResult (*occupancy)(int* blocks, CuFunction function, int threads, size_t shared_bytes);
  CuResult (*launch)(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream, void** arguments,
                     void** extra);
  CuResult (*stream_create)(CuStream* stream, unsigned flags);
  CuResult (*stream_destroy)(CuStream stream);
  CuResult (*stream_synchronize)(CuStream stream);
  CuResult (*stream_begin_capture)(CuStream stream, int mode);
  CuResult (*stream_end_capture)(CuStream stream, CuGraph* graph);
  CuResult (*graph_instantiate)(CuGraphExec* exec, CuGraph graph, unsigned long long flags);
  CuResult (*graph_launch)(CuGraphExec exec, CuStream stream);
  CuResult (*graph_exec_destroy)(CuGraphExec exec);
  CuResult (*graph_destroy)(CuGraph graph);
  CuResult (*event_create)(CuEvent* event, unsigned flags);
  CuResult (*event_destroy)(CuEvent event);
  CuResult (*event_record)(CuEvent event, CuStream stream);
  CuResult (*event_synchronize)(CuEvent event);
  CuResult (*event_elapsed)(float* ms, CuEvent begin, CuEvent end);
  CuResult (*error_name)(CuResult error, const char** name);

  // The driver of this machine. NotFound when there is none or it lacks a function that quern needs; the message names
  // it.
  static Result<const Driver*> Load();
  // Turns a result into a Status that names the call.
  Status Check(CuResult result, std::string_view call) const;
};

}  // namespace quern::device::cuda
