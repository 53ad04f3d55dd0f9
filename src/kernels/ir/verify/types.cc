// V1 and V11: the types of expressions and statements, indices, access rights.
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <set>

#include <fmt/format.h>

#include "kernels/ir/verify/expr_types.h"
#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {
namespace {

bool OneOf(Type type, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

struct MmaTypes {
  Type a, b, d;
};
MmaTypes TypesOf(MmaKind kind) {
  switch (kind) {
    case MmaKind::kF16K16:
    case MmaKind::kBF16K16:
      return {kU32x4, kU32x2, kF32x4};
    case MmaKind::kU8S8K32:
    case MmaKind::kS8S8K32:
      return {kU32x4, kU32x2, kI32x4};
    case MmaKind::kU8S8K16:
    case MmaKind::kS8S8K16:
      return {kU32x2, kU32, kI32x4};
  }
  return {};
}

class StatementTypes {
 public:
  StatementTypes(const Kernel& kernel, Report& report) : kernel_(kernel), report_(report) {}

  void Run() {
    ForEachStmt(kernel_.body, [this](const Stmt& stmt) { Check(stmt); });
  }

 private:
  void Require(bool holds, std::string_view message) {
    if (!holds) report_.Add(Rule::kV1, *stmt_, std::string(message));
  }
  Type TypeOf(ExprId id) const { return kernel_.expr(id).type; }
  Type RegType(RegId reg) const { return kernel_.registers[reg].type; }
  bool IsValue(ExprId id) const { return id < kernel_.exprs.size(); }

  void Check(const Stmt& stmt) {
    stmt_ = &stmt;
    // An operand may be missing only where it is a predicate.
    const bool operands = std::visit([this](const auto& s) { return OperandsPresent(s); }, stmt.node);
    const auto reg = WrittenBy(stmt);
    if (!operands || (reg && *reg >= kernel_.registers.size())) {
      Require(false, "an index of an expression or register is out of range");
      return;
    }
    std::visit([this](const auto& s) { Check(s); }, stmt.node);
  }

  template <typename S>
  bool OperandsPresent(const S& s) const {
    bool present = true;
    if constexpr (requires { s.value; }) present = present && IsValue(s.value);
    if constexpr (requires { s.begin; }) present = present && IsValue(s.begin) && IsValue(s.end);
    if constexpr (requires { s.condition; }) present = present && IsValue(s.condition);
    if constexpr (requires { s.offset; }) present = present && IsValue(s.offset);
    if constexpr (requires { s.source; }) present = present && IsValue(s.source);
    if constexpr (requires { s.shared_offset; }) present = present && IsValue(s.shared_offset);
    if constexpr (requires { s.global_offset; }) present = present && IsValue(s.global_offset);
    if constexpr (requires { s.a; }) present = present && IsValue(s.a) && IsValue(s.b) && IsValue(s.c);
    if constexpr (requires { s.predicate; }) present = present && (s.predicate == kNoExpr || IsValue(s.predicate));
    return present;
  }

  void CheckPredicate(ExprId predicate) {
    Require(predicate == kNoExpr || TypeOf(predicate) == kPred, "a predicate is not a pred");
  }
  void CheckGlobal(uint32_t buffer, ExprId offset, ExprId predicate, Access forbidden) {
    Require(OneOf(TypeOf(offset), {kU32, kU64}), "an offset is neither u32 nor u64");
    CheckPredicate(predicate);
    if (buffer >= kernel_.buffers.size())
      Require(false, "no such buffer");
    else
      Require(kernel_.buffers[buffer].access != forbidden, "the buffer's access does not allow this");
  }
  void CheckShared(uint32_t array, ExprId offset) {
    Require(TypeOf(offset) == kU32, "an offset into a shared array is not u32");
    Require(array < kernel_.shared.size(), "no such shared array");
  }
  void CheckMemoryType(Type type) { Require(type.scalar != Scalar::kPred, "a pred cannot be in memory"); }

  void Check(const SetStmt& s) { Require(RegType(s.dst) == TypeOf(s.value), "the value's type is not the register's"); }
  void Check(const ForStmt& s) {
    if (s.var >= kernel_.registers.size()) return Require(false, "no such register");
    Require(RegType(s.var) == kU32, "a loop's variable is not u32");
    Require(TypeOf(s.begin) == kU32 && TypeOf(s.end) == kU32, "a loop's bounds are not u32");
    Require(s.step > 0, "a loop's step is 0");
    bool written = false;
    ForEachStmt(s.body, [&](const Stmt& inner) {
      const auto* loop = std::get_if<ForStmt>(&inner.node);
      written = written || WrittenBy(inner) == s.var || (loop != nullptr && loop->var == s.var);
    });
    Require(!written, "a loop's body writes its variable");
  }
  void Check(const IfStmt& s) { Require(TypeOf(s.condition) == kPred, "a condition is not a pred"); }
  void Check(const LoadGlobalStmt& s) {
    CheckGlobal(s.buffer, s.offset, s.predicate, Access::kWrite);
    CheckMemoryType(RegType(s.dst));
  }
  void Check(const StoreGlobalStmt& s) {
    CheckGlobal(s.buffer, s.offset, s.predicate, Access::kRead);
    CheckMemoryType(TypeOf(s.value));
  }
  void Check(const LoadSharedStmt& s) {
    CheckShared(s.array, s.offset);
    CheckMemoryType(RegType(s.dst));
  }
  void Check(const StoreSharedStmt& s) {
    CheckShared(s.array, s.offset);
    CheckPredicate(s.predicate);
    CheckMemoryType(TypeOf(s.value));
  }
  void CheckShuffle(RegId dst, ExprId value) {
    Require(RegType(dst) == TypeOf(value), "the value's type is not the register's");
    Require(OneOf(TypeOf(value), {kI32, kU32, kF32}), "a shuffled value is not i32, u32 or f32");
  }
  void Check(const ShuffleXorStmt& s) {
    CheckShuffle(s.dst, s.value);
    Require(s.mask < kWarpThreads, "a shuffle's mask is 32 or more");
  }
  void Check(const ShuffleIndexStmt& s) {
    CheckShuffle(s.dst, s.value);
    Require(TypeOf(s.source) == kU32, "a shuffle's source is not u32");
  }
  void Check(const AsyncCopyStmt& s) {
    CheckShared(s.array, s.shared_offset);
    CheckGlobal(s.buffer, s.global_offset, s.predicate, Access::kWrite);
  }
  void Check(const MmaStmt& s) {
    const MmaTypes types = TypesOf(s.kind);
    Require(TypeOf(s.a) == types.a && TypeOf(s.b) == types.b, "a or b of an mma has the wrong type");
    Require(TypeOf(s.c) == types.d && RegType(s.dst) == types.d, "c or d of an mma has the wrong type");
  }
  template <typename S>
  void Check(const S&) {}

  const Kernel& kernel_;
  Report& report_;
  const Stmt* stmt_ = nullptr;
};

void CheckHeads(const Kernel& kernel, Report& report) {
  const auto require = [&](bool holds, const std::string& part, std::string_view message) {
    if (!holds) report.AddHead(Rule::kV1, part, std::string(message));
  };
  const auto over_params = [&](ExprId root) {
    const std::vector<ExprId> nodes = NodesOf(kernel, root);
    return std::none_of(nodes.begin(), nodes.end(), [&](ExprId id) {
      const Op op = kernel.expr(id).op;
      return op == Op::kReg || op == Op::kThread || op == Op::kLane || op == Op::kWarp || op == Op::kTile;
    });
  };
  for (const Param& p : kernel.params) {
    const std::string part = "param " + p.name;
    require(p.type == Scalar::kU32 || p.type == Scalar::kF32, part, "neither u32 nor f32");
    if (p.type != Scalar::kU32) continue;
    require(p.multiple_of > 0, part, "multiple_of is 0");
    require(p.multiple_of == 0 || p.max / p.multiple_of * p.multiple_of >= p.min, part, "the range has no value");
  }
  for (const Buffer& b : kernel.buffers) {
    const std::string part = "buffer " + b.name;
    require(std::has_single_bit(b.align), part, "the alignment is not a power of two");
    require(b.min_bytes < kernel.exprs.size() && kernel.expr(b.min_bytes).type == kU64 && over_params(b.min_bytes),
            part, "the size is not a u64 over parameters");
  }
  for (const SharedArray& s : kernel.shared) require(s.bytes % 16 == 0, "shared " + s.name, "not a multiple of 16");
  require(kernel.num_tiles < kernel.exprs.size() && kernel.expr(kernel.num_tiles).type == kU32 &&
              over_params(kernel.num_tiles),
          "tiles", "the number of tiles is not a u32 over parameters");
  std::set<std::string_view> names;
  for (const Register& r : kernel.registers) {
    require(names.insert(r.name).second, "register " + r.name, "the name is not unique");
    require(IsType(r.type), "register " + r.name, "no such type");
  }
}

}  // namespace

void CheckTypes(const Kernel& kernel, Report& report) {
  bool indices = true;
  for (ExprId id = 0; id < kernel.exprs.size(); ++id) {
    const ExprFault fault = CheckExpr(kernel, id);
    if (fault.message.empty()) continue;
    indices = false;
    report.AddHead(fault.rule, fmt::format("expression {} ({})", id, NameOf(kernel.exprs[id].op)), fault.message);
  }
  if (!indices) return;
  CheckHeads(kernel, report);
  StatementTypes(kernel, report).Run();
  if (!report.empty()) return;
  // A 16-bit register that is set again could carry a sum from one step to the next.
  const std::vector<uint32_t> writes = CountWrites(kernel);
  for (RegId reg = 0; reg < writes.size(); ++reg) {
    const Scalar scalar = kernel.registers[reg].type.scalar;
    if (writes[reg] > 1 && (scalar == Scalar::kF16 || scalar == Scalar::kBF16))
      report.AddHead(Rule::kV11, "register " + kernel.registers[reg].name, "a 16-bit float is set more than once");
  }
  report.set_printable(report.empty());
}

}  // namespace quern::kernels::ir::verify
