#include "kernels/ir/verify/expr_types.h"

#include <algorithm>
#include <initializer_list>

namespace quern::kernels::ir::verify {
namespace {

bool OneOf(Type type, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}
bool IsInteger(Scalar scalar) { return !IsFloat(scalar) && scalar != Scalar::kPred; }
bool IsHalf(Type type) { return type.scalar == Scalar::kF16 || type.scalar == Scalar::kBF16; }

int NumArgs(Op op) {
  switch (op) {
    case Op::kConst:
    case Op::kReg:
    case Op::kParam:
    case Op::kThread:
    case Op::kLane:
    case Op::kWarp:
    case Op::kTile:
      return 0;
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

bool CastAllowed(Type from, Type to) {
  if (from.lanes != 1 || to.lanes != 1) return false;
  if (from.scalar == Scalar::kPred) return to == kU32;
  if (IsHalf(from)) return to == kF32;
  if (IsHalf(to)) return from == kF32;
  if (from == kF32) return to == kI32 || to == kU32;
  return to == kF32 || IsInteger(to.scalar);
}

// Whether the operand types fit the operation.
bool TypesFit(const Kernel& kernel, const Expr& e) {
  const auto arg = [&](int i) { return kernel.expr(e.args[i]).type; };
  const auto all = [&](Type type) {
    return std::all_of(e.args.begin(), e.args.begin() + e.num_args,
                       [&](ExprId a) { return kernel.expr(a).type == type; });
  };
  switch (e.op) {
    case Op::kConst:
      return e.type.lanes == 1 &&
             (e.type == kPred ? e.value <= 1 : BytesOf(e.type) == 8 || e.value >> (8 * BytesOf(e.type)) == 0);
    case Op::kReg:
      return e.value < kernel.registers.size() && kernel.registers[e.value].type == e.type;
    case Op::kParam:
      return e.value < kernel.params.size() && e.type == Type{kernel.params[e.value].type};
    case Op::kThread:
    case Op::kLane:
    case Op::kWarp:
    case Op::kTile:
      return e.type == kU32;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMin:
    case Op::kMax:
      return OneOf(e.type, {kI32, kU32, kU64, kF32}) && all(e.type);
    case Op::kMulHigh:
    case Op::kBytePerm:
      return e.type == kU32 && all(kU32);
    case Op::kDiv:
      return OneOf(e.type, {kU32, kU64, kF32}) && all(e.type);
    case Op::kMod:
      return OneOf(e.type, {kU32, kU64}) && all(e.type);
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
      return OneOf(e.type, {kI32, kU32, kU64, kPred}) && all(e.type);
    case Op::kShl:
    case Op::kShr:
      return OneOf(e.type, {kI32, kU32, kU64}) && arg(0) == e.type && arg(1) == kU32;
    case Op::kFma:
    case Op::kSqrt:
    case Op::kRound:
      return e.type == kF32 && all(kF32);
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return e.type == kPred && OneOf(arg(0), {kI32, kU32, kU64, kF32}) && all(arg(0));
    case Op::kSelect:
      return OneOf(e.type, {kI32, kU32, kU64, kF32}) && arg(0) == kPred && arg(1) == e.type && arg(2) == e.type;
    case Op::kCast:
      return CastAllowed(arg(0), e.type);
    case Op::kBitcast:
      return BytesOf(arg(0)) == BytesOf(e.type) && arg(0).scalar != Scalar::kPred && e.type.scalar != Scalar::kPred;
    case Op::kDp4aUS:
    case Op::kDp4aSS:
      return e.type == kI32 && OneOf(arg(0), {kU32, kI32}) && OneOf(arg(1), {kU32, kI32}) && arg(2) == kI32;
    case Op::kExtract:
      return arg(0).lanes > 1 && e.value < arg(0).lanes && e.type == Type{arg(0).scalar};
    case Op::kVector:
      return e.type.lanes > 1 && e.num_args == e.type.lanes && all({e.type.scalar});
  }
  return false;
}

}  // namespace

bool IsType(Type type) {
  if (type.lanes == 1) return true;
  return (type.lanes == 2 || type.lanes == 4) && OneOf({type.scalar}, {kI32, kU32, kF32});
}

ExprFault CheckExpr(const Kernel& kernel, ExprId id) {
  const Expr& e = kernel.exprs[id];
  if (e.num_args > e.args.size()) return {Rule::kV1, "too many operands"};
  bool half = IsHalf(e.type);
  for (int i = 0; i < e.num_args; ++i) {
    if (e.args[i] >= id) return {Rule::kV1, "an operand is not an earlier expression"};
    half = half || IsHalf(kernel.expr(e.args[i]).type);
  }
  if (NumArgs(e.op) >= 0 && NumArgs(e.op) != e.num_args) return {Rule::kV1, "wrong number of operands"};
  if (!IsType(e.type)) return {Rule::kV1, "no such type"};
  const bool leaf = e.op == Op::kConst || e.op == Op::kReg || e.op == Op::kCast || e.op == Op::kBitcast;
  if (half && !leaf) return {Rule::kV11, "arithmetic on a 16-bit float"};
  if (!TypesFit(kernel, e)) return {Rule::kV1, "the types of operands and result do not fit"};
  return {};
}

}  // namespace quern::kernels::ir::verify
