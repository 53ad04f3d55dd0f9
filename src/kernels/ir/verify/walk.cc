#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {

int Arity(Op op) {
  if (op <= Op::kTile) return 0;
  switch (op) {
    case Op::kNot:
    case Op::kSqrt:
    case Op::kRound:
    case Op::kCast:
    case Op::kBitcast:
    case Op::kExtract:
      return 1;
    case Op::kFma:
    case Op::kSelect:
    case Op::kDp4aUS:
    case Op::kDp4aSS:
    case Op::kBytePerm:
      return 3;
    case Op::kVector:
      return -1;
    default:
      return 2;
  }
}

RegId Written(const Stmt& stmt) {
  return std::visit(
      [](const auto& s) -> RegId {
        if constexpr (requires { s.dst; }) return s.dst;
        if constexpr (requires { s.var; }) return s.var;
        return kNoReg;
      },
      stmt.node);
}

std::string Describe(const Kernel& k, const Stmt& stmt) {
  struct Text {
    const Kernel& k;
    std::string Reg(RegId id) const { return id < k.registers.size() ? k.registers[id].name : "?"; }
    std::string Buf(uint32_t id) const { return id < k.buffers.size() ? k.buffers[id].name : "?"; }
    std::string Arr(uint32_t id) const { return id < k.shared.size() ? k.shared[id].name : "?"; }
    std::string operator()(const SetStmt& s) const { return "set " + Reg(s.dst); }
    std::string operator()(const ForStmt& s) const { return "for " + Reg(s.var); }
    std::string operator()(const IfStmt&) const { return "if"; }
    std::string operator()(const LoadGlobalStmt& s) const { return "load " + Reg(s.dst) + " of " + Buf(s.buffer); }
    std::string operator()(const StoreGlobalStmt& s) const { return "store to " + Buf(s.buffer); }
    std::string operator()(const LoadSharedStmt& s) const { return "load " + Reg(s.dst) + " of " + Arr(s.array); }
    std::string operator()(const StoreSharedStmt& s) const { return "store to " + Arr(s.array); }
    std::string operator()(const BarrierStmt&) const { return "barrier"; }
    std::string operator()(const WarpSyncStmt&) const { return "warp_sync"; }
    std::string operator()(const ShuffleXorStmt& s) const { return "shuffle to " + Reg(s.dst); }
    std::string operator()(const ShuffleIndexStmt& s) const { return "shuffle to " + Reg(s.dst); }
    std::string operator()(const AsyncCopyStmt& s) const { return "copy of " + Buf(s.buffer) + " to " + Arr(s.array); }
    std::string operator()(const AsyncCommitStmt&) const { return "async_commit"; }
    std::string operator()(const AsyncWaitStmt&) const { return "async_wait"; }
    std::string operator()(const MmaStmt& s) const { return "mma to " + Reg(s.dst); }
    std::string operator()(const CommentStmt&) const { return "comment"; }
  };
  return std::visit(Text{k}, stmt.node);
}

}  // namespace quern::kernels::ir::verify
