#include "kernels/ir/verify/abstract.h"

#include <algorithm>

namespace quern::kernels::ir::verify {
namespace {

bool IsNumber(Type t) { return t == kU8 || t == kU16 || t == kU32 || t == kU64; }

}  // namespace

Int MaxOf(Type type) { return (Int{1} << (8 * BytesOf(type))) - 1; }

Int Evaluator::Top(const Poly& p, Type type) const { return std::min(symbols.High(p, known), MaxOf(type)); }

Evaluator::Evaluator(const Kernel& k, Violations& out) : kernel(k), registers(k.registers.size()), out_(out) {
  for (const Param& p : k.params) {
    if (p.type != Scalar::kU32) {
      params_.emplace_back();
      continue;
    }
    // p = multiple (least + symbol)
    const Int least = p.min / p.multiple_of, more = p.max / p.multiple_of - least;
    Poly value(least);
    if (more > 0) value += Poly::Of(symbols.Add(p.name + "'", more, true));
    params_.push_back(value * Poly(p.multiple_of));
  }
  tile = symbols.Add("tile", MaxOf(kU32));
  warp = symbols.Add("warp", Int{k.warps} - 1, k.warps == 1);
  lane = symbols.Add("lane", kWarpThreads - 1);
  symbols.at(warp).of_thread = symbols.at(lane).of_thread = true;
}

Abstract Evaluator::Opaque(const std::string& name, Int hi) {
  if (hi <= 0) return {Poly(0), nullptr, kNoExpr};
  const SymbolId s = symbols.Add(name, hi);
  symbols.at(s).data = true;
  return {Poly::Of(s), nullptr, kNoExpr};
}

Poly Evaluator::Number(const Abstract& value, Type type) {
  if (value.number && value.number->valid()) return *value.number;
  return *Opaque("any", MaxOf(type)).number;
}

Int Evaluator::High(const Poly& p) {
  Int hi = symbols.High(p, known);
  // One selection may be much smaller in each of its cases.
  for (const SymbolId s : p.Symbols()) {
    if (symbols.at(s).alternatives.empty()) continue;
    Int most = 0;
    for (const Alternative& a : symbols.at(s).alternatives) {
      Known inside = known;
      for (const Fact& f : a.facts) Prover(symbols).Assume(f, inside);
      most = std::max(most, symbols.High(p.Substituted(s, a.value), inside));
    }
    return std::min(hi, most);
  }
  return hi;
}

void Evaluator::Assume(const Facts& facts) {
  for (const Fact& f : facts) Prover(symbols).Assume(f, known);
}

Abstract Evaluator::Eval(ExprId id) {
  const Expr& e = kernel.expr(id);
  Abstract result = e.num_args == 0 ? Leaf(e) : Compute(e, id);
  if (IsNumber(e.type) && (!result.number || !result.number->valid())) result.number = Number({}, e.type);
  return result;
}

Abstract Evaluator::Leaf(const Expr& e) {
  switch (e.op) {
    case Op::kConst:
      if (e.type == kPred) {
        // A contradiction where it is not what it is.
        const Facts never = {{Poly(-1), false}};
        return {{}, std::make_shared<Condition>(e.value ? Condition{{}, never} : Condition{never, {}}), kNoExpr};
      }
      return IsNumber(e.type) ? Abstract{Poly(Int{e.value}), nullptr, kNoExpr} : Abstract{};
    case Op::kReg:
      return registers[e.value];
    case Op::kParam:
      return e.type == kU32 ? Abstract{params_[e.value], nullptr, kNoExpr} : Abstract{};
    case Op::kThread:
      return {Poly::Of(warp) * Poly(kernel.warps == 1 ? 0 : kWarpThreads) + Poly::Of(lane), nullptr, kNoExpr};
    case Op::kLane:
      return {Poly::Of(lane), nullptr, kNoExpr};
    case Op::kWarp:
      return {kernel.warps == 1 ? Poly(0) : Poly::Of(warp), nullptr, kNoExpr};
    default:
      return {Poly::Of(tile), nullptr, kNoExpr};
  }
}

Abstract Evaluator::Compute(const Expr& e, ExprId id) {
  if (e.op == Op::kSelect) {
    const Abstract c = Eval(e.args[0]);
    const Condition condition = c.condition ? *c.condition : Condition{};
    const size_t mark = known.size();
    Assume(condition.if_true);
    const Abstract a = Eval(e.args[1]);
    known.resize(mark);
    Assume(condition.if_false);
    const Abstract b = Eval(e.args[2]);
    known.resize(mark);
    Abstract out = Choose(condition, a, b, e.type);
    if (out.wrapped == kNoExpr) out.wrapped = c.wrapped;
    return out;
  }
  std::vector<Abstract> args;
  ExprId wrapped = kNoExpr;
  for (int i = 0; i < e.num_args; ++i) {
    args.push_back(Eval(e.args[i]));
    if (wrapped == kNoExpr) wrapped = args.back().wrapped;
  }
  const Type operand = kernel.expr(e.args[0]).type;
  Abstract out;
  if (e.op == Op::kCast || e.op == Op::kBitcast) {
    out = Convert(e, id, args[0]);
  } else if (e.op == Op::kShl || e.op == Op::kShr) {
    out = Shift(e, id, args[0], Number(args[1], kU32));
  } else if (e.type == kPred) {
    if (operand == kPred) out = Logic(e, args[0], args.size() > 1 ? args[1] : Abstract{});
    if (IsNumber(operand)) out = Compare(e, Number(args[0], operand), Number(args[1], operand));
  } else if ((e.op == Op::kDiv || e.op == Op::kMod) && IsNumber(e.type)) {
    if (Division(e, args[1])) {
      const Poly x = Number(args[0], e.type), q = Number(args[1], e.type);
      out.number = e.op == Op::kDiv ? symbols.Div(x, q, known) : symbols.Mod(x, q, known);
      if (e.op == Op::kDiv) BoundQuotients(*out.number);
    }
  } else if (IsNumber(e.type) && e.num_args == 2 && IsNumber(operand)) {
    out = e.op == Op::kAnd || e.op == Op::kOr || e.op == Op::kXor
              ? Bits(e, Number(args[0], e.type), Number(args[1], e.type))
              : Arithmetic(e, id, Number(args[0], e.type), Number(args[1], e.type));
  }
  if (wrapped != kNoExpr) out.wrapped = wrapped;
  return out;
}

bool Evaluator::Division(const Expr& e, const Abstract& divisor) {
  if (Prove(Number(divisor, e.type) - Poly(1))) return true;
  if (report) out_.push_back({Rule::kDivision, where, "a divisor may be 0"});
  return false;
}

// From x <= q p + r with r < q follows floor(x / q) <= p, which proofs over fractions do not find.
void Evaluator::BoundQuotients(const Poly& quotient) {
  for (const SymbolId d : quotient.Symbols()) {
    const Symbol& symbol = symbols.at(d);
    if (symbol.kind != Symbol::Kind::kDiv || symbol.uniform) continue;
    const Poly num = symbol.num, den = symbol.den;
    const auto bound = [&](const Poly& fact) -> std::optional<Poly> {
      const Poly limit = fact + num;
      if (!limit.valid() || !symbols.Uniform(limit)) return std::nullopt;
      const auto [p, r] = limit.Divided(den);
      if (!r.valid() || symbols.Low(den - Poly(1) - r) < 0) return std::nullopt;
      const bool below = symbols.Low(Poly(-1) - r) >= 0;  // x < q p
      return (below ? p - Poly(1) : p) - Poly::Of(d);
    };
    for (size_t i = 0, count = known.size(); i < count; ++i) {
      if (const auto fact = bound(known[i])) known.push_back(*fact);
    }
    for (const Poly& fact : Known(symbols.at(tile).facts)) {
      // Of every tile, so part of what the quotient is.
      if (const auto always = bound(fact)) symbols.at(d).facts.insert(symbols.at(d).facts.begin(), *always);
    }
  }
}

// Whether nothing but the ranges of types bounds the polynomial: codes and bits that are computed with, not indices.
bool Evaluator::IsData(const Poly& p) const {
  for (const SymbolId s : p.Symbols()) {
    if (!symbols.at(s).data) return false;
    for (const Poly& fact : known) {
      if (fact.Has(s)) return false;
    }
  }
  return true;
}

// A value that must be at least 0 and fit the type, or it wraps.
Abstract Evaluator::Fit(Poly p, Type type, ExprId id) {
  const Poly room = Poly(MaxOf(type)) - p;
  const bool hopeless = IsData(p);
  const bool fits =
      (symbols.Low(p) >= 0 || (!hopeless && Prove(p))) && (symbols.Low(room, known) >= 0 || (!hopeless && Prove(room)));
  if (fits) return {std::move(p), nullptr, kNoExpr};
  Abstract any = Opaque("wrapped(" + symbols.Text(p) + ")", MaxOf(type));
  any.wrapped = id;
  return any;
}

Abstract Evaluator::Choose(const Condition& condition, const Abstract& a, const Abstract& b, Type type) {
  if (!IsNumber(type)) return {{}, nullptr, a.wrapped != kNoExpr ? a.wrapped : b.wrapped};
  const Poly x = Number(a, type), y = Number(b, type);
  Abstract out;
  if (x == y) {
    out.number = x;
  } else {
    Int hi = 0;
    for (const auto& [facts, value] : {std::pair(&condition.if_true, &x), std::pair(&condition.if_false, &y)}) {
      const size_t mark = known.size();
      Assume(*facts);
      hi = std::max(hi, symbols.High(*value, known));
      known.resize(mark);
    }
    const SymbolId s = symbols.Add("chosen", std::min(hi, MaxOf(type)));
    symbols.at(s).alternatives = {{condition.if_true, x}, {condition.if_false, y}};
    out.number = Poly::Of(s);
  }
  out.wrapped = a.wrapped != kNoExpr ? a.wrapped : b.wrapped;
  return out;
}

Abstract Evaluator::Arithmetic(const Expr& e, ExprId id, const Poly& a, const Poly& b) {
  switch (e.op) {
    case Op::kAdd:
      return Fit(a + b, e.type, id);
    case Op::kSub:
      return Fit(a - b, e.type, id);
    case Op::kMul:
      return Fit(a * b, e.type, id);
    case Op::kMin:
    case Op::kMax: {
      if (Prove(b - a, Effort::kQuick)) return {e.op == Op::kMin ? a : b, nullptr, kNoExpr};
      if (Prove(a - b, Effort::kQuick)) return {e.op == Op::kMin ? b : a, nullptr, kNoExpr};
      const Condition less = {{{b - a, false}}, {{a - b - Poly(1), false}}};
      const Poly &first = e.op == Op::kMin ? a : b, &second = e.op == Op::kMin ? b : a;
      Abstract out = Choose(less, {first, nullptr, kNoExpr}, {second, nullptr, kNoExpr}, e.type);
      const SymbolId s = *out.number->Single();
      // Bounds over parameters are tried first.
      const bool swap = symbols.Uniform(b);
      for (const Poly* bound : {swap ? &b : &a, swap ? &a : &b}) {
        const Poly difference = *bound - *out.number;
        symbols.at(s).facts.push_back(e.op == Op::kMin ? difference : difference * Poly(-1));
      }
      symbols.at(s).uniform = symbols.Uniform(a) && symbols.Uniform(b);
      return out;
    }
    case Op::kMulHigh: {
      return Opaque("high", Top(a, kU32) * Top(b, kU32) >> 32);
    }
    default:
      return {};
  }
}

}  // namespace quern::kernels::ir::verify
