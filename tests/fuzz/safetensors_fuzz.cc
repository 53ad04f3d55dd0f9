// Single safetensors files.
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/safetensors.h"
#include "touch_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = quern::format::ParseSafetensors(std::as_bytes(std::span(data, size)));
  if (file) quern::TouchTensors(file->tensors);
  return 0;
}
