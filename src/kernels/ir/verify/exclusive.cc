#include "kernels/ir/verify/accesses.h"
namespace quern::kernels::ir::verify {
void CheckExclusive(const Kernel&, const Algebra&, const ThreadSymbols&, const std::vector<GlobalAccess>&, Report&) {}
}  // namespace quern::kernels::ir::verify
