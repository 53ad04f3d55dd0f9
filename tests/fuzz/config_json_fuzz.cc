// Configuration documents: what is accepted must survive being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "format/hf_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = quern::format::ParseHfConfig({reinterpret_cast<const char*>(data), size}, "input");
  if (!config) return 0;
  const auto again = quern::format::ParseHfConfig(config->dump(), "dump");
  QUERN_CHECK(again.has_value() && *again == *config);
  return 0;
}
