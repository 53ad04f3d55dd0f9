// The types of single expressions (V1, V11). Reads the kernel only.
#pragma once

#include <string>

#include "kernels/ir/kernel.h"
#include "kernels/ir/verify.h"

namespace quern::kernels::ir::verify {

bool IsType(Type type);  // a combination of scalar and lanes that exists

struct ExprFault {
  Rule rule = Rule::kV1;
  std::string message;  // empty: no fault
};
// Operands must come before the expression in the list, so no expression contains itself.
ExprFault CheckExpr(const Kernel& kernel, ExprId id);

}  // namespace quern::kernels::ir::verify
