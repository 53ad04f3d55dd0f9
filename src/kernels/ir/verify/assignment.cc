// V2: a register is read only where every way to that place has set it.
#include <utility>
#include <vector>

#include "kernels/ir/verify/rules.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {
namespace {

class Checker {
 public:
  Checker(const Kernel& kernel, Violations& out) : k_(kernel), out_(out), set_(kernel.registers.size()) {}

  void Run(const Block& block) {
    for (const Stmt& stmt : block) {
      ForEachOperand(stmt, [&](ExprId id) { Read(stmt, id); });
      const RegId dst = Written(stmt);
      if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        // What the body sets is set afterwards only when it is sure to run. The variable is the body's own.
        std::vector<bool> before = set_;
        set_[dst] = true;
        Run(loop->body);
        const bool runs = RunsOnce(*loop);
        if (!runs) set_ = std::move(before);
        set_[dst] = runs || set_[dst];
      } else if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
        const std::vector<bool> before = set_;
        Run(branch->then_body);
        const std::vector<bool> then = std::exchange(set_, before);
        Run(branch->else_body);
        for (size_t i = 0; i < set_.size(); ++i) set_[i] = set_[i] && then[i];
      } else if (dst != kNoReg) {
        set_[dst] = true;
      }
    }
  }

 private:
  bool RunsOnce(const ForStmt& loop) const {
    const Expr &begin = k_.expr(loop.begin), &end = k_.expr(loop.end);
    return begin.op == Op::kConst && end.op == Op::kConst && begin.value < end.value;
  }
  void Read(const Stmt& stmt, ExprId id) {
    ForEachExpr(k_, id, [&](const Expr& e) {
      if (e.op != Op::kReg || set_[e.value]) return;
      out_.push_back(
          {Rule::kAssigned, Describe(k_, stmt), k_.registers[e.value].name + " may be read before it is set"});
      set_[e.value] = true;  // one report is enough
    });
  }

  const Kernel& k_;
  Violations& out_;
  std::vector<bool> set_;
};

}  // namespace

void CheckAssigned(const Kernel& kernel, Violations& out) { Checker(kernel, out).Run(kernel.body); }

}  // namespace quern::kernels::ir::verify
