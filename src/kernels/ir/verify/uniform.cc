// V3: for which threads each register is equal, and what may stand under a condition that is not equal for all.
//
// Every register has one level, the worst of what is ever assigned to it; the levels only rise, until nothing changes.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {
namespace {

// kThread < kWarp < kBlock in the enum; the weaker of two is the smaller.
Uniform Weaker(Uniform a, Uniform b) { return std::min(a, b); }

class Levels {
 public:
  Levels(const Kernel& kernel, Report& report)
      : kernel_(kernel),
        report_(report),
        writes_(CountWrites(kernel)),
        level_(kernel.registers.size(), Uniform::kBlock) {}

  void Run() {
    do {
      changed_ = false;
      Run(kernel_.body, Uniform::kBlock, Uniform::kBlock);
    } while (changed_);
    checking_ = true;
    Run(kernel_.body, Uniform::kBlock, Uniform::kBlock);
  }

 private:
  // `control`: for which threads everything around is equal; `loops`: the same for the loops alone.
  void Run(const Block& block, Uniform control, Uniform loops) {
    for (const Stmt& stmt : block) {
      if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) {
        const Uniform begin = LevelOf(loop->begin);
        Claim(stmt, loop->uniform, Weaker(begin, LevelOf(loop->end)), "the loop's bounds");
        Lower(loop->var, begin);
        Run(loop->body, Weaker(control, loop->uniform), Weaker(loops, loop->uniform));
      } else if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
        Claim(stmt, branch->uniform, LevelOf(branch->condition), "the condition");
        Run(branch->then_body, Weaker(control, branch->uniform), loops);
        Run(branch->else_body, Weaker(control, branch->uniform), loops);
      } else {
        // A register that is set once inside a condition is read only there, where its readers took the same way.
        if (const auto reg = WrittenBy(stmt))
          Lower(*reg, Weaker(LevelOfResult(stmt), writes_[*reg] > 1 ? control : loops));
        CheckPlace(stmt, control);
      }
    }
  }

  void Lower(RegId reg, Uniform level) {
    if (level >= level_[reg]) return;
    level_[reg] = level;
    changed_ = true;
  }

  Uniform LevelOfResult(const Stmt& stmt) const {
    if (const auto* set = std::get_if<SetStmt>(&stmt.node)) return LevelOf(set->value);
    if (const auto* load = std::get_if<LoadGlobalStmt>(&stmt.node)) {
      // What nobody writes is the same for all who read the same bytes.
      if (kernel_.buffers[load->buffer].access != Access::kRead) return Uniform::kThread;
      const Uniform level = LevelOf(load->offset);
      return load->predicate == kNoExpr ? level : Weaker(level, LevelOf(load->predicate));
    }
    if (const auto* shuffle = std::get_if<ShuffleXorStmt>(&stmt.node)) return LevelOf(shuffle->value);
    if (const auto* shuffle = std::get_if<ShuffleIndexStmt>(&stmt.node)) {
      const Uniform value = LevelOf(shuffle->value);
      const Uniform source = LevelOf(shuffle->source);
      if (value == Uniform::kBlock || source == Uniform::kThread) return value;
      return Uniform::kWarp;  // one lane's value for the whole warp
    }
    return Uniform::kThread;
  }

  Uniform LevelOf(ExprId id) const {
    const Expr& e = kernel_.expr(id);
    switch (e.op) {
      case Op::kThread:
      case Op::kLane:
        return Uniform::kThread;
      case Op::kWarp:
        return kernel_.warps == 1 ? Uniform::kBlock : Uniform::kWarp;
      case Op::kReg:
        return level_[e.value];
      case Op::kDiv:
      case Op::kShr:
        if (IsWarp(e)) return Uniform::kWarp;
        break;
      default:
        break;
    }
    Uniform level = Uniform::kBlock;
    for (int i = 0; i < e.num_args; ++i) level = Weaker(level, LevelOf(e.args[i]));
    return level;
  }

  // thread / 32 n and thread >> n, n >= 5.
  bool IsWarp(const Expr& e) const {
    const Expr& by = kernel_.expr(e.args[1]);
    if (kernel_.expr(e.args[0]).op != Op::kThread || by.op != Op::kConst) return false;
    return e.op == Op::kDiv ? by.value != 0 && by.value % kWarpThreads == 0 : by.value >= 5 && by.value < 32;
  }

  void Claim(const Stmt& stmt, Uniform claimed, Uniform actual, std::string_view what) {
    if (checking_ && claimed > actual)
      report_.Add(
          Rule::kV3, stmt,
          fmt::format("{} are claimed equal per {}, but equal per {} at most", what, NameOf(claimed), NameOf(actual)));
  }

  void CheckPlace(const Stmt& stmt, Uniform control) {
    if (!checking_) return;
    const auto is = [&]<typename... S>() { return (std::holds_alternative<S>(stmt.node) || ...); };
    const bool block = is.operator()<BarrierStmt, AsyncWaitStmt>();
    const bool warp = is.operator()<WarpSyncStmt, ShuffleXorStmt, ShuffleIndexStmt, MmaStmt>();
    if (block && control != Uniform::kBlock)
      report_.Add(Rule::kV3, stmt, "stands where not all threads of the block pass");
    if (warp && control == Uniform::kThread)
      report_.Add(Rule::kV3, stmt, "stands where not all threads of the warp pass");
  }

  const Kernel& kernel_;
  Report& report_;
  const std::vector<uint32_t> writes_;
  std::vector<Uniform> level_;
  bool changed_ = false, checking_ = false;
};

}  // namespace

void CheckUniform(const Kernel& kernel, Report& report) { Levels(kernel, report).Run(); }

}  // namespace quern::kernels::ir::verify
