// The static verifier: refuses a kernel that could read or write outside of its buffers, diverge at a barrier, overflow
// an offset, and so on, for any value of its parameters within their ranges. Every generated kernel must pass.
//
// Sound, not complete: what is accepted is right; what cannot be proven is refused, and the generator adds a guard.
// A pure function; no state. It does not look for races in shared memory: the interpreter does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

// The codes are stable: evidence and messages name them.
enum class Rule : uint8_t {
  kV1 = 1,  // types, indices and access rights
  kV2,      // registers are set before they are read
  kV3,      // barriers and warp operations under uniform control; claims of uniformity hold
  kV4,      // accesses lie within the declared bytes
  kV5,      // accesses are aligned to their size
  kV6,      // threads, shared bytes, registers, counts of arguments
  kV7,      // no wrapped integer reaches an address, a bound or a guard
  kV8,      // distinct threads write distinct bytes of the outputs
  kV9,      // no division by zero, no shift by the width or more
  kV10,     // parameters, buffers and registers are used
  kV11,     // accumulators have 32 bits
};
std::string_view NameOf(Rule rule);  // "V4"

struct Limits {
  uint32_t max_shared_bytes = 227 * 1024;  // per block
  uint32_t max_threads = 1024;             // per block
  uint32_t max_registers = 255;            // 32-bit words per thread
  uint32_t registers_of_processor = 65536;
};

struct Violation {
  Rule rule;
  std::string where;  // "4.then.0: store y[...] = ..." or the part of the kernel's head
  std::string message;
};

// In the order of the checks. Empty: the kernel is accepted. Faults of V1 or V2 leave the others without meaning, so
// those stop there.
std::vector<Violation> Verify(const Kernel& kernel, const Limits& limits = {});

}  // namespace quern::kernels::ir
