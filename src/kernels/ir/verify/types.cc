// V1: types and widths of every expression and statement, indices, access rights. V11: f16 and bf16 are never computed
// with.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/ir/verify/rules.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {
namespace {

bool IsNarrowFloat(Type t) { return t.scalar == Scalar::kF16 || t.scalar == Scalar::kBF16; }
bool IsUnsigned(Type t) { return t == kU32 || t == kU64; }
bool IsComputed(Type t) { return t == kI32 || t == kU32 || t == kU64 || t == kF32; }
bool IsVectorOf32(Type t) {
  return (t.lanes == 2 || t.lanes == 4) &&
         (t.scalar == Scalar::kI32 || t.scalar == Scalar::kU32 || t.scalar == Scalar::kF32);
}
bool IsType(Type t) { return t.scalar <= Scalar::kF32 && (t.lanes == 1 || IsVectorOf32(t)); }
bool IsMemory(Type t) { return IsType(t) && t != kPred; }

class Checker {
 public:
  Checker(const Kernel& kernel, Violations& out) : k_(kernel), out_(out), seen_(kernel.exprs.size()) {}

  void Run() {
    for (const Register& r : k_.registers) {
      where_ = "register " + r.name;
      Require(IsType(r.type), "no such type");
    }
    for (const Param& p : k_.params) {
      where_ = "parameter " + p.name;
      Require(p.type == Scalar::kF32 ||
                  (p.type == Scalar::kU32 && p.min <= p.max && p.multiple_of > 0 && p.min % p.multiple_of == 0),
              "its range is empty or does not begin at a multiple");
    }
    for (const Buffer& b : k_.buffers) {
      where_ = "buffer " + b.name;
      Require(b.align != 0 && (b.align & (b.align - 1)) == 0, "its alignment is no power of two");
      OverParams(b.min_bytes, kU64);
    }
    for (const SharedArray& s : k_.shared) {
      where_ = "shared array " + s.name;
      Require(s.bytes % 16 == 0, "its size is no multiple of 16");
    }
    where_ = "number of tiles";
    OverParams(k_.num_tiles, kU32);
    ForEachStmt(k_.body, [&](const Stmt& stmt) {
      where_ = Describe(k_, stmt);
      bool valid = true;
      ForEachOperand(stmt, [&](ExprId id) { valid = Expression(id) && valid; });
      if (const RegId dst = Written(stmt); dst != kNoReg && dst >= k_.registers.size()) {
        Require(false, "no such register");
        valid = false;
      }
      if (valid) std::visit([&](const auto& s) { Check(s); }, stmt.node);
    });
  }

 private:
  bool Require(bool condition, std::string message, Rule rule = Rule::kTypes) {
    if (!condition) out_.push_back({rule, where_, std::move(message)});
    return condition;
  }
  Type TypeOf(ExprId id) const { return k_.expr(id).type; }
  bool Wants(ExprId id, Type type, std::string_view what) {
    return Require(id != kNoExpr && TypeOf(id) == type,
                   fmt::format("{} is no {}", what, NameOf(type.scalar) == "pred" ? "condition" : NameOf(type.scalar)));
  }

  void OverParams(ExprId id, Type type) {
    if (!Require(id != kNoExpr, "an expression is missing") || !Expression(id)) return;
    Require(TypeOf(id) == type, "the type is wrong");
    ForEachExpr(k_, id, [&](const Expr& e) {
      Require(e.op == Op::kConst || e.op == Op::kParam || e.num_args > 0, "not over parameters alone");
    });
  }

  // Whether the expression and all its arguments exist and fit. Arguments come before their users, so there is no
  // cycle.
  bool Expression(ExprId id) {
    if (!Require(id < k_.exprs.size(), "no such expression")) return false;
    if (seen_[id] != 0) return seen_[id] == 1;
    const Expr& e = k_.expr(id);
    bool valid = Require(e.op <= Op::kVector && IsType(e.type) && e.num_args <= e.args.size(), "no such operation");
    if (valid) {
      const int arity = Arity(e.op);
      valid = Require(arity == e.num_args || (arity < 0 && (e.num_args == 2 || e.num_args == 4)),
                      fmt::format("{} has {} arguments", NameOf(e.op), e.num_args));
    }
    for (int i = 0; valid && i < e.num_args; ++i)
      valid = Require(e.args[i] < id, "an argument follows its user") && Expression(e.args[i]);
    if (valid) {
      Rule rule = Rule::kTypes;
      const bool fits = Fits(e, rule);
      valid = Require(fits, fmt::format("{} has operands or a result of the wrong type", NameOf(e.op)), rule);
    }
    seen_[id] = valid ? 1 : 2;
    return valid;
  }

  bool Fits(const Expr& e, Rule& rule) const {
    const auto arg = [&](int i) { return TypeOf(e.args[i]); };
    const bool leaf = e.num_args == 0, moves = e.op == Op::kCast || e.op == Op::kBitcast;
    if (!leaf && !moves) {
      bool narrow = IsNarrowFloat(e.type);
      for (int i = 0; i < e.num_args; ++i) narrow = narrow || IsNarrowFloat(arg(i));
      if (narrow) return rule = Rule::kNarrowFloat, false;
    }
    const auto same = [&] {
      for (int i = 0; i < e.num_args; ++i) {
        if (arg(i) != arg(0)) return false;
      }
      return true;
    };
    const Type t = e.type;
    switch (e.op) {
      case Op::kConst:
        return t.lanes == 1 && (BytesOf(t) == 8 || e.value >> (8 * BytesOf(t)) == 0) && (t != kPred || e.value <= 1);
      case Op::kReg:
        return e.value < k_.registers.size() && k_.registers[e.value].type == t;
      case Op::kParam:
        return e.value < k_.params.size() && t == Type{k_.params[e.value].type};
      case Op::kThread:
      case Op::kLane:
      case Op::kWarp:
      case Op::kTile:
        return t == kU32;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kMin:
      case Op::kMax:
        return IsComputed(t) && same() && arg(0) == t;
      case Op::kMulHigh:
        return t == kU32 && same() && arg(0) == t;
      case Op::kDiv:
        return (IsUnsigned(t) || t == kF32) && same() && arg(0) == t;
      case Op::kMod:
        return IsUnsigned(t) && same() && arg(0) == t;
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor:
      case Op::kNot:
        return ((IsComputed(t) && t != kF32) || t == kPred) && same() && arg(0) == t;
      case Op::kShl:
      case Op::kShr:
        return IsComputed(t) && t != kF32 && arg(0) == t && arg(1) == kU32;
      case Op::kFma:
      case Op::kSqrt:
      case Op::kRound:
        return t == kF32 && same() && arg(0) == t;
      case Op::kEq:
      case Op::kNe:
      case Op::kLt:
      case Op::kLe:
        return t == kPred && same() && IsComputed(arg(0));
      case Op::kSelect:
        return arg(0) == kPred && arg(1) == t && arg(2) == t;
      case Op::kCast:
        return CastFits(t, arg(0));
      case Op::kBitcast:
        return BytesOf(t) == BytesOf(arg(0)) && t != kPred && arg(0) != kPred && t.lanes == arg(0).lanes;
      case Op::kDp4aUS:
      case Op::kDp4aSS:
        return t == kI32 && arg(0) == kU32 && arg(1) == kU32 && arg(2) == kI32;
      case Op::kBytePerm:
        return t == kU32 && same() && arg(0) == kU32;
      case Op::kExtract:
        return arg(0).lanes > 1 && e.value < arg(0).lanes && t == Type{arg(0).scalar};
      case Op::kVector:
        return IsVectorOf32(t) && e.num_args == t.lanes && same() && arg(0) == Type{t.scalar};
    }
    return false;
  }
  static bool CastFits(Type to, Type from) {
    if (to.lanes != 1 || from.lanes != 1 || to == kPred) return false;
    if (from == kPred) return to == kU32;
    if (IsNarrowFloat(to)) return from == kF32;
    if (IsNarrowFloat(from)) return to == kF32;
    if (from == kF32) return to == kI32 || to == kU32;
    return true;
  }

  Type RegType(RegId id) const { return k_.registers[id].type; }
  bool Predicate(ExprId id) { return id == kNoExpr || Wants(id, kPred, "the predicate"); }
  void Offset(ExprId id) { Require(IsUnsigned(TypeOf(id)), "the offset is no u32 or u64"); }
  // The buffer exists and may be read, or written.
  bool Use(uint32_t buffer, Access forbidden, std::string_view what) {
    return Require(buffer < k_.buffers.size(), "no such buffer") &&
           Require(k_.buffers[buffer].access != forbidden, fmt::format("the buffer may not be {}", what));
  }
  bool Array(uint32_t array) { return Require(array < k_.shared.size(), "no such shared array"); }
  bool NarrowFree(Type t) { return Require(!IsNarrowFloat(t), "f16 or bf16 outside of memory", Rule::kNarrowFloat); }

  void Check(const SetStmt& s) {
    Require(TypeOf(s.value) == RegType(s.dst), "the value is not of the register's type");
  }
  void Check(const ForStmt& s) {
    Require(RegType(s.var) == kU32 && TypeOf(s.begin) == kU32 && TypeOf(s.end) == kU32, "a loop counts in u32");
    Require(s.step > 0, "the step is 0");
    // Emitted text reads the end before every turn, the interpreter once: they agree when the body leaves it alone.
    const std::string here = where_;
    std::vector<bool> fixed(k_.registers.size());
    fixed[s.var] = true;
    ForEachExpr(k_, s.end, [&](const Expr& e) {
      if (e.op == Op::kReg) fixed[e.value] = true;
    });
    ForEachStmt(s.body, [&](const Stmt& stmt) {
      const RegId dst = Written(stmt);
      Require(dst == kNoReg || dst >= fixed.size() || !fixed[dst], "the body sets the loop's variable or bound");
    });
    ForEachExpr(k_, s.end, [&](const Expr& e) {
      Require(e.op != Op::kReg || e.value != s.var, "the bound reads the loop's variable");
    });
  }
  void Check(const IfStmt& s) { Wants(s.condition, kPred, "the condition"); }
  void Check(const LoadGlobalStmt& s) {
    Use(s.buffer, Access::kWrite, "read");
    Require(IsMemory(RegType(s.dst)), "no type of memory");
    Offset(s.offset);
    Predicate(s.predicate);
  }
  void Check(const StoreGlobalStmt& s) {
    Use(s.buffer, Access::kRead, "written");
    Require(IsMemory(TypeOf(s.value)), "no type of memory");
    Offset(s.offset);
    Predicate(s.predicate);
  }
  void Check(const LoadSharedStmt& s) {
    Array(s.array);
    Require(IsMemory(RegType(s.dst)), "no type of memory");
    Wants(s.offset, kU32, "the offset");
  }
  void Check(const StoreSharedStmt& s) {
    Array(s.array);
    Require(IsMemory(TypeOf(s.value)), "no type of memory");
    Wants(s.offset, kU32, "the offset");
    Predicate(s.predicate);
  }
  void Check(const BarrierStmt&) {}
  void Check(const WarpSyncStmt&) {}
  void Shuffled(RegId dst, ExprId value) {
    const Type t = TypeOf(value);
    if (!NarrowFree(t)) return;
    Require(t == RegType(dst) && t.lanes == 1 && BytesOf(t) == 4, "a shuffle moves one 32-bit value");
  }
  void Check(const ShuffleXorStmt& s) {
    Shuffled(s.dst, s.value);
    Require(s.mask < kWarpThreads, "the mask is 32 or more");
  }
  void Check(const ShuffleIndexStmt& s) {
    Shuffled(s.dst, s.value);
    Wants(s.source, kU32, "the source lane");
  }
  void Check(const AsyncCopyStmt& s) {
    Use(s.buffer, Access::kWrite, "read");
    Array(s.array);
    Wants(s.shared_offset, kU32, "the offset");
    Offset(s.global_offset);
    Predicate(s.predicate);
  }
  void Check(const AsyncCommitStmt&) {}
  void Check(const AsyncWaitStmt&) {}
  void Check(const MmaStmt& s) {
    const bool half = s.kind == MmaKind::kF16K16 || s.kind == MmaKind::kBF16K16;
    const bool short_k = s.kind == MmaKind::kU8S8K16 || s.kind == MmaKind::kS8S8K16;
    const Type sum = half ? kF32x4 : kI32x4;
    Require(TypeOf(s.a) == (short_k ? kU32x2 : kU32x4) && TypeOf(s.b) == (short_k ? kU32 : kU32x2) &&
                TypeOf(s.c) == sum && RegType(s.dst) == sum,
            "the operands do not fit the product");
  }
  void Check(const CommentStmt& s) {
    Require(s.text.find('\n') == std::string::npos, "a comment of more than one line");
  }

  const Kernel& k_;
  Violations& out_;
  std::vector<uint8_t> seen_;  // 0: not yet; 1: valid; 2: not
  std::string where_;
};

}  // namespace

void CheckTypes(const Kernel& kernel, Violations& out) { Checker(kernel, out).Run(); }

}  // namespace quern::kernels::ir::verify
