// Gives a generated kernel its id and C symbol.
#pragma once

#include <algorithm>

#include "kernels/descriptor/descriptor.h"
#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::gen {

inline Kernel Named(Kernel kernel, const Descriptor& descriptor, const Schedule& schedule) {
  kernel.id = KernelId(descriptor, schedule);
  kernel.symbol = kernel.id;
  std::replace_if(
      kernel.symbol.begin(), kernel.symbol.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return kernel;
}

}  // namespace quern::kernels::ir::gen
