// V3: barriers where the whole block arrives, shuffles and products where whole warps do, and every claim that a
// condition or a loop's bounds are equal among threads.
//
// Each register has the widest group of threads that is known to hold one value in it. A value depends on its operands
// and on the control around its assignment: threads that diverged may have set it or not.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernels/ir/verify/rules.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {
namespace {

Uniform Narrower(Uniform a, Uniform b) { return std::min(a, b); }

class Checker {
 public:
  Checker(const Kernel& kernel, Violations& out) : k_(kernel), out_(out), regs_(kernel.registers.size(), kUnset) {}

  void Run() {
    Walk(k_.body, Uniform::kBlock);
    report_ = true;
    Walk(k_.body, Uniform::kBlock);
  }

 private:
  // No assignment seen yet: equal for all, as far as is known.
  static constexpr Uniform kUnset = Uniform::kBlock;

  Uniform Of(ExprId id) const {
    const Expr& e = k_.expr(id);
    switch (e.op) {
      case Op::kThread:
      case Op::kLane:
        return Uniform::kThread;
      case Op::kWarp:
        return k_.warps == 1 ? Uniform::kBlock : Uniform::kWarp;
      case Op::kReg:
        return regs_[e.value];
      default:
        break;
    }
    Uniform u = Uniform::kBlock;
    for (int i = 0; i < e.num_args; ++i) u = Narrower(u, Of(e.args[i]));
    return u;
  }

  void Assign(RegId reg, Uniform value) {
    // Registers only ever get narrower, so the loops below end.
    regs_[reg] = Narrower(regs_[reg], value);
  }

  void Walk(const Block& block, Uniform control) {
    for (const Stmt& stmt : block) {
      if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
        const Uniform actual = Of(branch->condition);
        Claim(stmt, branch->uniform, actual);
        const Uniform inside = Narrower(control, branch->uniform);
        Walk(branch->then_body, Narrower(inside, actual));
        Walk(branch->else_body, Narrower(inside, actual));
      } else if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        WalkLoop(stmt, *loop, control);
      } else {
        Check(stmt, control);
        if (const RegId dst = Written(stmt); dst != kNoReg) Assign(dst, Narrower(control, Result(stmt)));
      }
    }
  }

  void WalkLoop(const Stmt& stmt, const ForStmt& loop, Uniform control) {
    // The body may read at its begin what it sets at its end: until nothing changes, without reports.
    const bool report = std::exchange(report_, false);
    Uniform actual = Uniform::kBlock;
    for (std::vector<Uniform> before; before != regs_;) {
      before = regs_;
      actual = Narrower(Of(loop.begin), Of(loop.end));
      const Uniform inside = Narrower(Narrower(control, loop.uniform), actual);
      Assign(loop.var, inside);
      Walk(loop.body, inside);
    }
    report_ = report;
    if (!report) return;
    Claim(stmt, loop.uniform, actual);
    Walk(loop.body, Narrower(Narrower(control, loop.uniform), actual));
  }

  Uniform Result(const Stmt& stmt) const {
    if (const auto* set = std::get_if<SetStmt>(&stmt.node)) return Of(set->value);
    // One lane's value for the whole warp; of warps, nothing is known.
    if (const auto* shuffle = std::get_if<ShuffleIndexStmt>(&stmt.node))
      return Narrower(Of(shuffle->source), k_.warps == 1 ? Uniform::kBlock : Uniform::kWarp);
    return Uniform::kThread;
  }

  void Claim(const Stmt& stmt, Uniform claimed, Uniform actual) {
    if (claimed > actual)
      Report(stmt, fmt::format("said to be uniform per {}, but known only per {}", NameOf(claimed), NameOf(actual)));
  }
  void Check(const Stmt& stmt, Uniform control) {
    const bool block =
        std::holds_alternative<BarrierStmt>(stmt.node) || std::holds_alternative<AsyncWaitStmt>(stmt.node);
    const bool warp = std::holds_alternative<WarpSyncStmt>(stmt.node) ||
                      std::holds_alternative<ShuffleXorStmt>(stmt.node) ||
                      std::holds_alternative<ShuffleIndexStmt>(stmt.node) || std::holds_alternative<MmaStmt>(stmt.node);
    if (block && control != Uniform::kBlock) Report(stmt, "not all threads of the block arrive");
    if (warp && control == Uniform::kThread) Report(stmt, "not all threads of the warp arrive");
  }
  void Report(const Stmt& stmt, std::string message) {
    if (report_) out_.push_back({Rule::kUniform, Describe(k_, stmt), std::move(message)});
  }

  const Kernel& k_;
  Violations& out_;
  std::vector<Uniform> regs_;
  bool report_ = false;
};

}  // namespace

void CheckUniform(const Kernel& kernel, Violations& out) { Checker(kernel, out).Run(); }

}  // namespace quern::kernels::ir::verify
