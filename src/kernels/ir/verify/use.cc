// V10: what is declared is used.
#include <set>

#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {

void CheckUse(const Kernel& kernel, Report& report) {
  std::vector<bool> params(kernel.params.size()), registers(kernel.registers.size()), buffers(kernel.buffers.size()),
      shared(kernel.shared.size());
  const auto read = [&](ExprId root, RegId except) {
    for (const ExprId id : NodesOf(kernel, root)) {
      const Expr& e = kernel.expr(id);
      if (e.op == Op::kParam) params[e.value] = true;
      if (e.op == Op::kReg && e.value != except) registers[e.value] = true;
    }
  };
  const RegId none = static_cast<RegId>(kernel.registers.size());
  // The size of a buffer is part of what the launch promises, so a parameter that only it reads has its use.
  read(kernel.num_tiles, none);
  for (const Buffer& b : kernel.buffers) read(b.min_bytes, none);
  ForEachStmt(kernel.body, [&](const Stmt& stmt) {
    // x = x + 1 alone does not make x useful.
    const bool plain = std::holds_alternative<SetStmt>(stmt.node) || std::holds_alternative<MmaStmt>(stmt.node);
    for (const ExprId operand : OperandsOf(stmt)) read(operand, plain ? *WrittenBy(stmt) : none);
    std::visit(
        [&](const auto& s) {
          if constexpr (requires { s.buffer; }) buffers[s.buffer] = true;
          if constexpr (requires { s.array; }) shared[s.array] = true;
          if constexpr (requires { s.var; }) registers[s.var] = true;  // a loop may only count
        },
        stmt.node);
  });
  const auto report_unused = [&](const std::vector<bool>& used, const auto& list, const char* kind) {
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i]) report.AddHead(Rule::kV10, std::string(kind) + " " + list[i].name, "is never used");
  };
  report_unused(params, kernel.params, "param");
  report_unused(buffers, kernel.buffers, "buffer");
  report_unused(shared, kernel.shared, "shared");
  report_unused(registers, kernel.registers, "register");
}

}  // namespace quern::kernels::ir::verify
