// Accesses to buffers, as the walk through a kernel found them, and the proof that writers do not meet (V8).
#pragma once

#include <string>
#include <vector>

#include "kernels/ir/verify/abstract.h"

namespace quern::kernels::ir::verify {

struct GlobalAccess {
  uint32_t buffer = 0;
  bool store = false;
  Poly offset;
  uint32_t bytes = 0;
  Known known;  // what holds where it happens, its predicate included
  std::string where;
};

// Two threads of the launch that touch one byte of a buffer, one of them writing, are the same thread.
void CheckExclusive(const Evaluator& evaluator, const std::vector<GlobalAccess>& accesses, Violations& out);

}  // namespace quern::kernels::ir::verify
