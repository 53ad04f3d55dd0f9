#include "kernels/lower/expression.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"

namespace quern::kernels::lower {

using namespace ir;  // NOLINT: this file prints the IR

std::string TypeName(Type type) {
  if (type.scalar == Scalar::kPred) return "bool";
  const std::string_view name =
      type.scalar == Scalar::kF16 || type.scalar == Scalar::kBF16 ? "u16" : NameOf(type.scalar);
  return type.lanes == 1 ? fmt::format("qk_{}", name) : fmt::format("qk_{}x{}", name, type.lanes);
}

std::string ExpressionPrinter::Constant(const Expr& e) const {
  switch (e.type.scalar) {
    case Scalar::kPred:
      return e.value ? "true" : "false";
    case Scalar::kU64:
      return fmt::format("{}ull", e.value);
    case Scalar::kI32: {
      const auto value = static_cast<int32_t>(static_cast<uint32_t>(e.value));
      return value >= 0 ? fmt::format("{}", value) : fmt::format("(qk_i32){:#x}u", static_cast<uint32_t>(e.value));
    }
    case Scalar::kF32: {
      const float value = std::bit_cast<float>(static_cast<uint32_t>(e.value));
      if (hex_floats_ && std::isfinite(value)) return fmt::format("{:a}f", value);
      return fmt::format("qk_as_f32({:#x}u)", static_cast<uint32_t>(e.value));
    }
    case Scalar::kU32:
      return e.value < 65536 ? fmt::format("{}u", e.value) : fmt::format("{:#x}u", e.value);
    default:
      return fmt::format("({}){:#x}u", TypeName(e.type), e.value);
  }
}

std::string ExpressionPrinter::Leaf(const Expr& e) const {
  switch (e.op) {
    case Op::kReg:
      return kernel_.registers[e.value].name;
    case Op::kParam:
      return kernel_.params[e.value].name;
    case Op::kThread:
      return "tid";
    case Op::kLane:
      return "lane";
    case Op::kWarp:
      return "warp";
    default:
      return "tile";
  }
}

std::string ExpressionPrinter::Cast(const Expr& e) const {
  const std::string a = Text(e.args[0]);
  const Scalar from = kernel_.expr(e.args[0]).type.scalar, to = e.type.scalar;
  if (from == Scalar::kF16) return fmt::format("qk_f16_to_f32({})", a);
  if (from == Scalar::kBF16) return fmt::format("qk_bf16_to_f32({})", a);
  if (to == Scalar::kF16) return fmt::format("qk_f32_to_f16({})", a);
  if (to == Scalar::kBF16) return fmt::format("qk_f32_to_bf16({})", a);
  if (from == Scalar::kF32) return fmt::format("qk_f32_to_{}({})", NameOf(to), a);
  return fmt::format("({})({})", TypeName(e.type), a);
}

std::string ExpressionPrinter::Bitcast(const Expr& e) const {
  const std::string a = Text(e.args[0]);
  const Scalar from = kernel_.expr(e.args[0]).type.scalar, to = e.type.scalar;
  if (to == Scalar::kF32) return fmt::format("qk_as_f32((qk_u32)({}))", a);
  if (from == Scalar::kF32) return fmt::format("({})qk_as_u32({})", TypeName(e.type), a);
  return fmt::format("({})({})", TypeName(e.type), a);
}

std::string ExpressionPrinter::Text(ExprId id) const {
  const Expr& e = kernel_.expr(id);
  if (e.op == Op::kConst) return Constant(e);
  if (e.num_args == 0) return Leaf(e);
  if (e.op == Op::kCast) return Cast(e);
  if (e.op == Op::kBitcast) return Bitcast(e);
  const auto arg = [&](int i) { return Text(e.args[static_cast<size_t>(i)]); };
  const Scalar operand = kernel_.expr(e.args[0]).type.scalar;
  const bool is_i32 = operand == Scalar::kI32;
  const auto infix = [&](std::string_view op) { return fmt::format("({} {} {})", arg(0), op, arg(1)); };
  const auto call = [&](std::string_view name) {
    std::string text = fmt::format("{}(", name);
    for (int i = 0; i < e.num_args; ++i) text += (i == 0 ? "" : ", ") + arg(i);
    return text + ")";
  };
  switch (e.op) {
    case Op::kAdd:
      return is_i32 ? call("qk_add") : infix("+");
    case Op::kSub:
      return is_i32 ? call("qk_sub") : infix("-");
    case Op::kMul:
      return is_i32 ? call("qk_mul") : infix("*");
    case Op::kMulHigh:
      return call("qk_mul_high");
    case Op::kDiv:
      return operand == Scalar::kF32 ? call("qk_div") : infix("/");
    case Op::kMod:
      return infix("%");
    case Op::kMin:
      return call("qk_min");
    case Op::kMax:
      return call("qk_max");
    case Op::kAnd:
      return infix("&");
    case Op::kOr:
      return infix("|");
    case Op::kXor:
      return operand == Scalar::kPred ? infix("!=") : infix("^");
    case Op::kNot:
      return fmt::format("({}{})", operand == Scalar::kPred ? "!" : "~", arg(0));
    case Op::kShl:
      return is_i32 ? call("qk_shl") : infix("<<");
    case Op::kShr:
      return infix(">>");
    case Op::kFma:
      return call("qk_fma");
    case Op::kSqrt:
      return call("qk_sqrt");
    case Op::kRound:
      return call("qk_round");
    case Op::kEq:
      return infix("==");
    case Op::kNe:
      return infix("!=");
    case Op::kLt:
      return infix("<");
    case Op::kLe:
      return infix("<=");
    case Op::kSelect:
      return fmt::format("({} ? {} : {})", arg(0), arg(1), arg(2));
    case Op::kDp4aUS:
      return call("qk_dp4a_us");
    case Op::kDp4aSS:
      return call("qk_dp4a_ss");
    case Op::kBytePerm:
      return call("qk_byte_perm");
    case Op::kExtract: {
      constexpr std::string_view kElements[] = {"x", "y", "z", "w"};
      return fmt::format("{}.{}", arg(0), kElements[e.value]);
    }
    case Op::kVector: {
      std::string text = TypeName(e.type) + "{";
      for (int i = 0; i < e.num_args; ++i) text += (i == 0 ? "" : ", ") + arg(i);
      return text + "}";
    }
    default:
      QUERN_CHECK(false && "not an operation with operands");
      return {};
  }
}

}  // namespace quern::kernels::lower
