#include "kernels/ir/verify/evaluate.h"

#include <algorithm>
#include <utility>

#include "kernels/ir/verify/bits.h"

namespace quern::kernels::ir::verify {

bool IsIntegerType(Type type) { return type.lanes == 1 && !IsFloat(type.scalar) && type.scalar != Scalar::kPred; }

Evaluator::Evaluator(const Kernel& kernel, Algebra& algebra, Report& report)
    : kernel_(kernel), algebra_(algebra), report_(report) {
  for (const Param& p : kernel.params) {
    // multiple * (first + offset), so that a division by what divides every value is exact.
    const bool integer = p.type == Scalar::kU32;
    const Int multiple = integer ? p.multiple_of : 1;
    const Int first = integer ? (Int{p.min} + multiple - 1) / multiple : 0;
    Symbol symbol;
    symbol.kind = Symbol::Kind::kParam;
    symbol.name = "$" + p.name + (first == 0 ? "" : "'") + (multiple == 1 ? "" : "/" + std::to_string(p.multiple_of));
    symbol.max = integer ? p.max / multiple - first : HighestOf(kU32);
    symbol.over_params = true;
    params_.push_back((Poly::Of(algebra.symbols().Add(std::move(symbol))) + first) * Poly(multiple));
  }
}

void Evaluator::SetTiles(const Poly& num_tiles) {
  Symbols& symbols = algebra_.symbols();
  const auto add = [&](Symbol::Kind kind, std::string name, Int max) {
    Symbol symbol;
    symbol.kind = kind;
    symbol.name = std::move(name);
    symbol.max = std::max<Int>(max, 0);
    return symbols.Add(std::move(symbol));
  };
  tile_ = add(Symbol::Kind::kTile, "tile", symbols.High(num_tiles) - 1);
  symbols[tile_].facts = {num_tiles - Poly(1) - Poly::Of(tile_)};
  warp_ = add(Symbol::Kind::kWarp, "warp", Int{kernel_.warps} - 1);
  lane_ = add(Symbol::Kind::kLane, "lane", Int{kWarpThreads} - 1);
}

void Evaluator::At(const Stmt* stmt, bool silent) {
  stmt_ = stmt;
  silent_ = silent;
  outer_facts_ = algebra_.facts();
}

void Evaluator::Fault(std::string message) {
  if (silent_) return;
  if (stmt_ != nullptr)
    report_.Add(Rule::kV9, *stmt_, std::move(message));
  else
    report_.AddHead(Rule::kV9, "head", std::move(message));
}

void Evaluator::Touch(ExprId id) {
  const Expr& e = kernel_.expr(id);
  if (e.type == kPred) {
    Pred(id);
  } else if (IsIntegerType(e.type)) {
    Integer(id);
  } else {
    for (int i = 0; i < e.num_args; ++i) Touch(e.args[i]);
  }
}

Poly Evaluator::Integer(ExprId id) {
  const Expr& e = kernel_.expr(id);
  const Poly warp = kernel_.warps <= 1 ? Poly(0) : Poly::Of(warp_);
  switch (e.op) {
    case Op::kConst: {
      const Int value = Int{e.value};
      return value > HighestOf(e.type) ? value - (Int{1} << 8 * BytesOf(e.type)) : value;
    }
    case Op::kReg: {
      const auto known = state_.integers.find(static_cast<RegId>(e.value));
      if (known != state_.integers.end()) return known->second;
      return algebra_.Unknown("%" + kernel_.registers[e.value].name, e.type);
    }
    case Op::kParam:
      return params_[e.value];
    case Op::kThread:
      return warp * Poly(Int{kWarpThreads}) + Poly::Of(lane_);
    case Op::kLane:
      return Poly::Of(lane_);
    case Op::kWarp:
      return warp;
    case Op::kTile:
      return Poly::Of(tile_);
    case Op::kSelect:
      return SelectOne(e);
    case Op::kCast:
    case Op::kBitcast:
      return Convert(e);
    case Op::kExtract:
    case Op::kDp4aUS:
    case Op::kDp4aSS:
    case Op::kBytePerm:
      for (int i = 0; i < e.num_args; ++i) Touch(e.args[i]);
      return algebra_.Unknown(std::string(NameOf(e.op)), e.type);
    default:
      return Compute(e);
  }
}

Poly Evaluator::Compute(const Expr& e) {
  const Poly a = Integer(e.args[0]);
  const Poly b = e.num_args > 1 ? Integer(e.args[1]) : Poly();
  switch (e.op) {
    case Op::kAdd:
      return algebra_.Fit(a + b, e.type);
    case Op::kSub:
      return algebra_.Fit(a - b, e.type);
    case Op::kMul:
      return algebra_.Fit(a * b, e.type);
    case Op::kMulHigh:
      return (a * b).ok() ? algebra_.Divide(a * b, Int{1} << 32).first : algebra_.Unknown("mul_high", e.type);
    case Op::kDiv:
    case Op::kMod:
      return Divide(e, a, b);
    case Op::kMin:
      return algebra_.Min(a, b, e.type);
    case Op::kMax:
      return algebra_.Max(a, b, e.type);
    case Op::kAnd:
      return BitAnd(algebra_, a, b, e.type);
    case Op::kOr:
      return BitOr(algebra_, a, b, e.type);
    case Op::kXor:
      return BitXor(algebra_, a, b, e.type);
    case Op::kNot:
      return Poly(LowestOf(e.type) < 0 ? Int{-1} : HighestOf(e.type)) - a;
    case Op::kShl:
    case Op::kShr:
      return Shift(e, a, b);
    default:
      return algebra_.Unknown(std::string(NameOf(e.op)), e.type);
  }
}

Poly Evaluator::Divide(const Expr& e, const Poly& a, const Poly& b) {
  // The kernel is refused then; going on as if it were not 0 keeps the report to this one fault.
  if (!algebra_.NotNegative(b - Poly(1), outer_facts_))
    Fault("the divisor " + algebra_.symbols().Text(b) + " may be 0");
  const auto [quotient, remainder] = algebra_.Divide(a, b);
  return e.op == Op::kDiv ? quotient : remainder;
}

Poly Evaluator::Shift(const Expr& e, const Poly& a, const Poly& amount) {
  if (!algebra_.NotNegative(Poly(Int{8 * BytesOf(e.type) - 1}) - amount, outer_facts_)) {
    Fault("the shift by " + algebra_.symbols().Text(amount) + " may reach the width");
    return algebra_.UnknownOf("shift", {a, amount}, e.type, kMaxU64, false);
  }
  return e.op == Op::kShl ? ShiftLeft(algebra_, a, amount, e.type) : ShiftRight(algebra_, a, amount, e.type);
}

Poly Evaluator::Convert(const Expr& e) {
  const Type from = kernel_.expr(e.args[0]).type;
  if (from == kPred) {
    const Condition c = Pred(e.args[0]);
    return algebra_.Choose({{1, c.when_true}, {0, c.when_false}}, e.type);
  }
  if (!IsIntegerType(from)) {
    Touch(e.args[0]);
    return algebra_.Unknown(std::string(NameOf(e.op)), e.type);
  }
  const Poly a = Integer(e.args[0]);
  if (algebra_.InRange(a, e.type)) return a;
  // A u64 that is cut to 32 bits lost what it was widened for; other changes of type are how bytes are decoded.
  if (from == kU64 && BytesOf(e.type) == 4) return algebra_.Fit(a, e.type);
  return algebra_.UnknownOf("cast", {a}, e.type, HighestOf(e.type), false);
}

Poly Evaluator::SelectOne(const Expr& e) {
  const Condition c = Pred(e.args[0]);
  const auto arm = [&](const Facts& facts, ExprId id) {
    const size_t outer = algebra_.facts().size();
    algebra_.facts().insert(algebra_.facts().end(), facts.begin(), facts.end());
    const Poly value = Integer(id);
    algebra_.facts().resize(outer);
    return Symbol::Case{value, facts};
  };
  const Symbol::Case if_true = arm(c.when_true, e.args[1]);
  const Symbol::Case if_false = arm(c.when_false, e.args[2]);
  const Poly chosen = algebra_.Choose({if_true, if_false}, e.type);
  // What a wrapped comparison chooses is as good as wrapped.
  return c.wrapped ? algebra_.Unknown("select", e.type, true) : chosen;
}

Condition Evaluator::Pred(ExprId id) {
  const Expr& e = kernel_.expr(id);
  const auto join = [](Facts a, const Facts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  switch (e.op) {
    case Op::kReg: {
      const auto known = state_.conditions.find(static_cast<RegId>(e.value));
      return known == state_.conditions.end() ? Condition{} : known->second;
    }
    case Op::kNot: {
      Condition c = Pred(e.args[0]);
      std::swap(c.when_true, c.when_false);
      return c;
    }
    case Op::kAnd:
    case Op::kOr: {
      const Condition a = Pred(e.args[0]), b = Pred(e.args[1]);
      const bool wrapped = a.wrapped || b.wrapped;
      if (e.op == Op::kAnd) return {join(a.when_true, b.when_true), {}, wrapped};
      return {{}, join(a.when_false, b.when_false), wrapped};
    }
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return Compare(e);
    case Op::kConst: {
      const Facts never{Poly(-1)};
      return e.value != 0 ? Condition{{}, never} : Condition{never, {}};
    }
    default:
      for (int i = 0; i < e.num_args; ++i) Touch(e.args[i]);
      return {};
  }
}

Condition Evaluator::Compare(const Expr& e) {
  if (!IsIntegerType(kernel_.expr(e.args[0]).type)) {
    Touch(e.args[0]);
    Touch(e.args[1]);
    return {};
  }
  const Poly a = Integer(e.args[0]), b = Integer(e.args[1]);
  const bool wrapped = algebra_.symbols().Wrapped(a) || algebra_.symbols().Wrapped(b);
  if (e.op == Op::kLt) return {{b - a - Poly(1)}, {a - b}, wrapped};
  if (e.op == Op::kLe) return {{b - a}, {a - b - Poly(1)}, wrapped};
  const Facts equal{a - b, b - a};
  Facts differ;
  if (algebra_.NotNegative(a - b))
    differ = {a - b - Poly(1)};
  else if (algebra_.NotNegative(b - a))
    differ = {b - a - Poly(1)};
  if (e.op == Op::kEq) return {equal, differ, wrapped};
  return {differ, equal, wrapped};
}

}  // namespace quern::kernels::ir::verify
