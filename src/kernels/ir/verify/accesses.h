// What the walk over the statements hands to the check of exclusive writes (V8): every access to a buffer that is
// written, with the facts that held there.
#pragma once

#include <vector>

#include "kernels/ir/verify/evaluate.h"

namespace quern::kernels::ir::verify {

struct GlobalAccess {
  const Stmt* stmt;
  uint32_t buffer;
  bool store;
  Poly offset;
  Int size;
  Facts facts;
};

struct ThreadSymbols {
  Sym tile, warp, lane;
  bool one_tile, one_warp;  // there is only one
  Sym which;                // 0 or 1: of two accesses, which one
};

void CheckExclusive(const Kernel& kernel, const Algebra& algebra, const ThreadSymbols& threads,
                    const std::vector<GlobalAccess>& accesses, Report& report);

}  // namespace quern::kernels::ir::verify
