// V2: every register is set on every path before it is read.
#include <fmt/format.h>

#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {
namespace {

class Assignment {
 public:
  Assignment(const Kernel& kernel, Report& report) : kernel_(kernel), report_(report), set_(kernel.registers.size()) {}

  void Run(const Block& block) {
    for (const Stmt& stmt : block) {
      for (const ExprId operand : OperandsOf(stmt)) Read(stmt, operand);
      if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        RunLoop(*loop);
      } else if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
        const std::vector<bool> before = set_;
        Run(branch->then_body);
        std::vector<bool> then_set = std::exchange(set_, before);
        Run(branch->else_body);
        for (size_t i = 0; i < set_.size(); ++i) set_[i] = set_[i] && then_set[i];
      } else if (const auto reg = WrittenBy(stmt)) {
        set_[*reg] = true;
      }
    }
  }

 private:
  void RunLoop(const ForStmt& loop) {
    const std::vector<bool> before = set_;
    set_[loop.var] = true;
    Run(loop.body);
    if (!RunsOnce(loop)) set_ = before;
    set_[loop.var] = false;  // has no value after the loop
  }

  // begin < end for all parameters, where both are plain enough to see it.
  bool RunsOnce(const ForStmt& loop) const {
    const Expr& begin = kernel_.expr(loop.begin);
    const Expr& end = kernel_.expr(loop.end);
    if (begin.op != Op::kConst) return false;
    if (end.op == Op::kConst) return begin.value < end.value;
    return end.op == Op::kParam && begin.value < kernel_.params[end.value].min;
  }

  void Read(const Stmt& stmt, ExprId root) {
    for (const ExprId id : NodesOf(kernel_, root)) {
      const Expr& e = kernel_.expr(id);
      if (e.op == Op::kReg && !set_[e.value])
        report_.Add(Rule::kV2, stmt, fmt::format("%{} may be read before it is set", kernel_.registers[e.value].name));
    }
  }

  const Kernel& kernel_;
  Report& report_;
  std::vector<bool> set_;
};

}  // namespace

void CheckAssignment(const Kernel& kernel, Report& report) { Assignment(kernel, report).Run(kernel.body); }

}  // namespace quern::kernels::ir::verify
