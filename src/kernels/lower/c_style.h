// Prints the body of a kernel as statements of a C-like language. CUDA and Metal share every statement and differ in a
// few words, which a Dialect names; what the words do is defined by the header that the text includes
// (device_text/). Pure functions of the kernel: no clock, no locale, no order that could change.
#pragma once

#include <string>
#include <string_view>

#include "kernels/ir/kernel.h"

namespace quern::kernels::lower {

// A kernel and the texts that its source names.
struct Source {
  const ir::Kernel* kernel = nullptr;
  std::string descriptor, schedule;  // canonical texts
};

struct Dialect {
  std::string_view const_global;  // type of a pointer into a buffer that is only read
  std::string_view global;
  std::string_view shared;
  std::string_view unroll;  // "#pragma unroll {}" with the count
  bool hex_floats = false;  // 0x1p+0f is a literal
};

// First lines of every emitted file, and the comment above each kernel: id, descriptor, schedule, SHA-256 of the IR.
std::string FileHeader();
std::string KernelComment(const Source& source);
// Statements between the braces of the tile function: first the names of parameters, buffers and shared arrays, then
// the body. `buffer` prints the expression of buffer i.
std::string TileBody(const ir::Kernel& kernel, const Dialect& dialect, std::string_view buffer_format);
bool HasAsyncCopies(const ir::Kernel& kernel);

}  // namespace quern::kernels::lower
