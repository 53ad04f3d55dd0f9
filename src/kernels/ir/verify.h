// Verify: the static proof that a kernel keeps the rules of the IR, for every launch within its parameters' ranges.
//
// A kernel without violations has no access out of bounds, no wrapped index, no barrier that some threads miss, and no
// byte of an output that two threads write. The verifier never accepts a kernel that breaks such a rule; it may refuse
// a correct kernel whose proof it does not find. Races in shared memory are not its business: the interpreter finds
// them. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

enum class Rule : uint8_t {
  kTypes = 1,    // V1: types, widths, indices, access rights
  kAssigned,     // V2: every register is set before it is read
  kUniform,      // V3: barriers, shuffles and products where all their threads arrive
  kBounds,       // V4: accesses within the declared bytes
  kAlignment,    // V5: offsets are multiples of the type's size
  kResources,    // V6: threads, shared memory, registers, parameters
  kOverflow,     // V7: indices, loop bounds and guards do not wrap
  kExclusive,    // V8: no byte of an output has two writers
  kDivision,     // V9: no division by zero, no shift by the width
  kUsed,         // V10: every parameter, buffer and register serves a purpose
  kNarrowFloat,  // V11: f16 and bf16 are loaded, stored and cast alone
};
std::string_view CodeOf(Rule rule);  // "V4"; stable

struct Violation {
  Rule rule;
  std::string where;    // the statement or the part of the kernel
  std::string message;  // what is wrong, or what could not be proved
};

struct Limits {
  uint32_t max_shared_bytes = 227 * 1024;
  uint32_t max_threads = 1024;
  uint32_t max_registers = 255;
};

// Empty when the kernel keeps all rules. Rules that rest on broken ones are not tried: after V1 or V11 nothing, after
// V2 and V3 no values (V4, V5, V7 to V9), after V7 and V9 no bounds, after V4 and V5 no exclusiveness.
std::vector<Violation> Verify(const Kernel& kernel, const Limits& limits = {});

}  // namespace quern::kernels::ir
