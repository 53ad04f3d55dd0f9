// Abstract values of bits, shifts, casts and conditions.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "kernels/ir/verify/abstract.h"

namespace quern::kernels::ir::verify {
namespace {

bool IsNumber(Type t) { return t == kU8 || t == kU16 || t == kU32 || t == kU64; }
std::optional<uint32_t> Log2(Int n) {
  const auto v = static_cast<uint64_t>(n);
  if (n <= 0 || n > ~uint64_t{0} || !std::has_single_bit(v)) return std::nullopt;
  return std::countr_zero(v);
}
Int BitCeil(Int n) {  // the smallest 2^k - 1 that is at least n
  Int all = 0;
  while (all < n) all = 2 * all + 1;
  return all;
}

}  // namespace

Abstract Evaluator::Bits(const Expr& e, const Poly& a, const Poly& b) {
  const auto mask = b.Constant();
  if (e.op == Op::kAnd && mask) {
    if (*mask == 0) return {Poly(0), nullptr, kNoExpr};
    if (Log2(*mask + 1)) return {symbols.Mod(a, Poly(*mask + 1), known), nullptr, kNoExpr};
    // A multiple of the lowest bit of the mask.
    const Int lowest = *mask & -*mask;
    const Int hi = std::min(*mask, Top(a, e.type)) / lowest;
    const Abstract scaled = Opaque("masked", hi);
    if (const auto s = scaled.number->Single()) symbols.at(*s).facts.push_back(a - Poly(lowest) * *scaled.number);
    return {*scaled.number * Poly(lowest), nullptr, kNoExpr};
  }
  if (e.op == Op::kAnd) {
    Abstract out = Opaque("and", std::min(Top(a, e.type), Top(b, e.type)));
    if (const auto s = out.number->Single()) symbols.at(*s).facts = {a - *out.number, b - *out.number};
    return out;
  }
  // Without common bits, both are the sum.
  for (const auto& [high, low] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Int all = BitCeil(Top(*low, e.type));
    if (high->DivisibleBy(all + 1)) return {a + b, nullptr, kNoExpr};
  }
  const Int hi = BitCeil(std::max(Top(a, e.type), Top(b, e.type)));
  Abstract out = Opaque("bits", hi);
  if (const auto s = out.number->Single()) {
    symbols.at(*s).facts = {a + b - *out.number};
    if (e.op == Op::kOr) symbols.at(*s).facts.insert(symbols.at(*s).facts.end(), {*out.number - a, *out.number - b});
  }
  return out;
}

Abstract Evaluator::Shift(const Expr& e, ExprId id, const Abstract& a, const Poly& amount) {
  const int width = 8 * BytesOf(e.type);
  if (!Prove(Poly(width - 1) - amount)) {
    if (report) out_.push_back({Rule::kDivision, where, fmt::format("a shift may be by {} or more", width)});
    return {};
  }
  if (!IsNumber(e.type)) return {};
  const Poly x = Number(a, e.type);
  if (const auto n = amount.Constant()) {
    const Poly power(Int{1} << static_cast<int>(*n));
    if (e.op == Op::kShr) return {symbols.Div(x, power, known), nullptr, kNoExpr};
    return Fit(x * power, e.type, id);
  }
  const Int x_high = Top(x, e.type);
  if (e.op == Op::kShr) {
    Abstract out = Opaque("shifted", x_high);
    if (const auto s = out.number->Single()) symbols.at(*s).facts = {x - *out.number};
    return out;
  }
  const Int most = x_high << static_cast<int>(std::min<Int>(symbols.High(amount, known), 63));
  Abstract out = Opaque("shifted", std::min(most, MaxOf(e.type)));
  if (most > MaxOf(e.type)) out.wrapped = id;
  return out;
}

Abstract Evaluator::Convert(const Expr& e, ExprId id, const Abstract& a) {
  const Type from = kernel.expr(e.args[0]).type;
  if (!IsNumber(e.type)) return {};
  if (!IsNumber(from)) return from == kPred ? Opaque("flag", 1) : Abstract{};
  return BytesOf(e.type) >= BytesOf(from) ? Abstract{Number(a, from), nullptr, kNoExpr}
                                          : Fit(Number(a, from), e.type, id);
}

Abstract Evaluator::Compare(const Expr& e, const Poly& a, const Poly& b) {
  Condition c;
  switch (e.op) {
    case Op::kLt:
      c = {{{b - a - Poly(1), false}}, {{a - b, false}}};
      break;
    case Op::kLe:
      c = {{{b - a, false}}, {{a - b - Poly(1), false}}};
      break;
    default:
      c = {{{b - a, false}, {a - b, false}}, {{a - b, true}}};
      if (e.op == Op::kNe) std::swap(c.if_true, c.if_false);
  }
  return {{}, std::make_shared<Condition>(std::move(c)), kNoExpr};
}

Abstract Evaluator::Logic(const Expr& e, const Abstract& a, const Abstract& b) {
  const Condition x = a.condition ? *a.condition : Condition{}, y = b.condition ? *b.condition : Condition{};
  const auto both = [](Facts p, const Facts& q) {
    p.insert(p.end(), q.begin(), q.end());
    return p;
  };
  Condition c;
  if (e.op == Op::kNot) c = {x.if_false, x.if_true};
  if (e.op == Op::kAnd) c.if_true = both(x.if_true, y.if_true);
  if (e.op == Op::kOr) c.if_false = both(x.if_false, y.if_false);
  return {{}, std::make_shared<Condition>(std::move(c)), kNoExpr};
}

}  // namespace quern::kernels::ir::verify
