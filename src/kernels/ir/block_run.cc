#include "kernels/ir/block_run.h"

#include <optional>
#include <string>

#include <fmt/format.h>

namespace quern::kernels::ir {
namespace {

// What a statement is, in few words; the line of the dump follows it in the message.
class PlaceName {
 public:
  explicit PlaceName(const Kernel& kernel) : kernel_(kernel) {}

  std::string operator()(const SetStmt& s) const { return "set " + Reg(s.dst); }
  std::string operator()(const ForStmt& s) const { return "for " + Reg(s.var); }
  std::string operator()(const IfStmt&) const { return "if"; }
  std::string operator()(const LoadGlobalStmt& s) const { return "load of " + Buffer(s.buffer) + " to " + Reg(s.dst); }
  std::string operator()(const StoreGlobalStmt& s) const { return "store to " + Buffer(s.buffer); }
  std::string operator()(const LoadSharedStmt& s) const { return "load of " + Array(s.array) + " to " + Reg(s.dst); }
  std::string operator()(const StoreSharedStmt& s) const { return "store to " + Array(s.array); }
  std::string operator()(const BarrierStmt&) const { return "barrier"; }
  std::string operator()(const WarpSyncStmt&) const { return "warp_sync"; }
  std::string operator()(const ShuffleXorStmt& s) const { return "shuffle to " + Reg(s.dst); }
  std::string operator()(const ShuffleIndexStmt& s) const { return "shuffle to " + Reg(s.dst); }
  std::string operator()(const AsyncCopyStmt& s) const { return "asynchronous copy to " + Array(s.array); }
  std::string operator()(const AsyncCommitStmt&) const { return "async_commit"; }
  std::string operator()(const AsyncWaitStmt&) const { return "async_wait"; }
  std::string operator()(const MmaStmt& s) const { return "mma to " + Reg(s.dst); }
  std::string operator()(const CommentStmt&) const { return "comment"; }

 private:
  const std::string& Reg(RegId id) const { return kernel_.registers[id].name; }
  const std::string& Buffer(uint32_t i) const { return kernel_.buffers[i].name; }
  const std::string& Array(uint32_t i) const { return kernel_.shared[i].name; }

  const Kernel& kernel_;
};

}  // namespace

BlockRun::BlockRun(const Kernel& kernel, const std::vector<uint32_t>& params, std::vector<GlobalShadow>& global,
                   uint32_t tile)
    : kernel_(kernel),
      state_{kernel, params, tile, {}, Mask(kernel.threads(), 1), {}},
      global_(global),
      flights_(kernel.threads()) {
  for (const Register& r : kernel.registers) state_.registers.emplace_back(r.type, kernel.threads(), false);
  for (const SharedArray& s : kernel.shared) shared_.emplace_back(s.bytes);
  epochs_.warp.assign(kernel.warps, 1);
}

Status BlockRun::Run() {
  Run(kernel_.body);
  for (uint32_t t = 0; t < threads(); ++t) {
    // Groups are waited for between tiles; what belongs to none could land in the next tile's memory.
    if (!flights_[t].open.empty()) state_.Fault(t, "the tile ends with asynchronous copies that were not committed");
  }
  if (!failed()) return {};
  if (broken_ == nullptr) return Fail(Code::kFailedPrecondition, "kernel {}: {}", kernel_.id, state_.fault);
  return Fail(Code::kFailedPrecondition, "kernel {}: {} (at {}): {}", kernel_.id, state_.fault,
              std::visit(PlaceName(kernel_), broken_->node), DumpHead(kernel_, *broken_));
}

void BlockRun::Run(const Block& block) {
  for (const Stmt& stmt : block) {
    std::visit([this](const auto& s) { Do(s); }, stmt.node);
    if (!failed()) continue;
    if (broken_ == nullptr) broken_ = &stmt;  // inner statements come here first
    return;
  }
}

Column BlockRun::Need(ExprId id, std::string_view what) {
  Column c = Evaluate(state_, id);
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!active(t) || c.defined[t]) continue;
    state_.Fault(t, fmt::format("{} uses a value that was never set", what));
    break;
  }
  return c;
}

void BlockRun::Assign(RegId dst, const Column& value) {
  Column& reg = state_.registers[dst];
  if (reg.type != value.type) return state_.Fault(0, "the value has another type than its register");
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!active(t)) continue;
    reg.defined[t] = value.defined[t];
    for (uint32_t lane = 0; lane < reg.type.lanes; ++lane) reg.at(t, lane) = value.at(t, lane);
  }
}

BlockRun::Mask BlockRun::Allowed(ExprId predicate) {
  if (predicate == kNoExpr) return state_.active;
  const Column c = Need(predicate, "the predicate");
  Mask allowed = state_.active;
  for (uint32_t t = 0; t < threads(); ++t) allowed[t] = allowed[t] && c.at(t) != 0;
  return allowed;
}

void BlockRun::CheckUniform(const Column& c, Uniform uniform, std::string_view what) {
  if (uniform == Uniform::kThread) return;
  const uint32_t span = uniform == Uniform::kWarp ? kWarpThreads : threads();
  for (uint32_t first = 0; first < threads(); first += span) {
    std::optional<uint64_t> seen;
    for (uint32_t t = first; t < first + span; ++t) {
      if (!active(t)) continue;
      if (seen && *seen != c.at(t)) {
        return state_.Fault(
            t, fmt::format("{} differs among the threads of a {}: {} and {}", what, NameOf(uniform), *seen, c.at(t)));
      }
      seen = c.at(t);
    }
  }
}

void BlockRun::Do(const SetStmt& s) { Assign(s.dst, Need(s.value, "the assignment")); }

void BlockRun::Do(const ForStmt& s) {
  const Column begin = Need(s.begin, "the loop's begin"), end = Need(s.end, "the loop's end");
  CheckUniform(begin, s.uniform, "the loop's begin");
  CheckUniform(end, s.uniform, "the loop's end");
  const Mask before = state_.active;
  Column var(kU32, threads(), true);
  for (uint32_t t = 0; t < threads(); ++t) var.at(t) = begin.at(t);
  while (!failed()) {
    bool any = false;
    for (uint32_t t = 0; t < threads(); ++t) {
      state_.active[t] = before[t] && var.at(t) < end.at(t);
      any = any || state_.active[t];
    }
    if (!any) break;
    Assign(s.var, var);
    Run(s.body);
    if (failed()) break;
    // Emitted text reads the variable and the end anew before each pass, so neither may have moved.
    const Column now = Evaluate(state_, s.end);
    for (uint32_t t = 0; t < threads(); ++t) {
      if (!active(t)) continue;
      if (state_.registers[s.var].at(t) != var.at(t)) state_.Fault(t, "the body writes the loop variable");
      if (!now.defined[t] || now.at(t) != end.at(t)) state_.Fault(t, "the body changes the loop's end");
      var.at(t) += s.step;
      if (var.at(t) > 0xFFFFFFFFu) state_.Fault(t, "the loop variable overflows");
    }
  }
  state_.active = before;
}

void BlockRun::Do(const IfStmt& s) {
  const Column condition = Need(s.condition, "the condition");
  CheckUniform(condition, s.uniform, "the condition");
  if (failed()) return;
  const Mask before = state_.active;
  for (const bool branch : {true, false}) {
    bool any = false;
    for (uint32_t t = 0; t < threads(); ++t) {
      state_.active[t] = before[t] && (condition.at(t) != 0) == branch;
      any = any || state_.active[t];
    }
    if (any) Run(branch ? s.then_body : s.else_body);
    if (failed()) return;
  }
  state_.active = before;
}

}  // namespace quern::kernels::ir
