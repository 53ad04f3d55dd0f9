#include "kernels/ir/verify/algebra.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/ir/verify/divide.h"

namespace quern::kernels::ir::verify {

Int LowestOf(Type type) {
  if (type.scalar == Scalar::kI32) return -(Int{1} << 31);
  return type.scalar == Scalar::kI8 ? -128 : 0;
}

Int HighestOf(Type type) { return (Int{1} << 8 * BytesOf(type.scalar)) - 1 + LowestOf(type); }

Poly Algebra::UnknownBetween(std::string name, Int low, Int high, bool wrapped) {
  Symbol symbol;
  symbol.name = std::move(name);
  symbol.max = high - low;
  symbol.wrapped = wrapped;
  return Poly::Of(symbols_.Add(std::move(symbol))) + low;
}

Poly Algebra::Unknown(std::string name, Type type, bool wrapped) {
  return UnknownBetween(std::move(name), LowestOf(type), HighestOf(type), wrapped);
}

Poly Algebra::UnknownOf(const std::string& operation, const std::vector<Poly>& operands, Type type, Int high,
                        bool wrapped) {
  const auto key = std::tuple(operation, operands, static_cast<int>(type.scalar));
  const auto known = unknowns_.find(key);
  if (known != unknowns_.end()) return known->second;
  bool over_params = true;
  for (const Poly& p : operands) {
    wrapped = wrapped || symbols_.Wrapped(p);
    over_params = over_params && symbols_.OverParams(p);
  }
  const Poly result = UnknownBetween(operation, LowestOf(type), std::min(high, HighestOf(type)), wrapped);
  symbols_[symbols_.size() - 1].over_params = over_params;
  return unknowns_[key] = result;
}

Poly Algebra::Fit(const Poly& p, Type type) {
  if (!p.ok()) return Unknown("wrapped", type, true);
  if (InRange(p, type)) return p;
  return UnknownOf("wrapped", {p}, type, HighestOf(type), true);
}

std::pair<Poly, Poly> Algebra::Divide(const Poly& dividend, const Poly& divisor) {
  if (divisor == Poly(1)) return {dividend, 0};
  const Split split = SplitBy(dividend, divisor);
  if (split.whole == Poly(0) || !NotNegative(split.rest)) return DivideRest(dividend, divisor);
  const auto [quotient, remainder] = DivideRest(split.rest, divisor);
  return {split.whole + quotient, remainder};
}

std::pair<Poly, Poly> Algebra::DivideRest(const Poly& dividend, const Poly& divisor) {
  if (dividend == Poly(0) || NotNegative(divisor - Poly(1) - dividend)) return {0, dividend};
  if (divisor.IsConstant()) {
    // dividend = g * coarse + fine with fine < g, where g divides the divisor: divide the coarse part.
    const Int by = divisor.constant();
    for (const auto& [monomial, g] : dividend.terms()) {
      if (monomial.empty() || g <= 1 || by % g != 0) continue;
      const Split split = SplitBy(dividend, g);
      if (split.whole == Poly(0) || !NotNegative(split.rest) || !NotNegative(Poly(g - 1) - split.rest)) continue;
      const auto [quotient, remainder] = Divide(split.whole, by / g);
      return {quotient, remainder * Poly(g) + split.rest};
    }
  }
  const auto known = quotients_.find({dividend, divisor});
  if (known != quotients_.end()) return {Poly::Of(known->second), Poly::Of(symbols_[known->second].twin)};
  Symbol quotient;
  quotient.kind = Symbol::Kind::kQuotient;
  quotient.name = "(" + symbols_.Text(dividend) + " / " + symbols_.Text(divisor) + ")";
  const Int least = std::max<Int>(1, symbols_.Low(divisor));
  const Int most = std::min(symbols_.High(dividend), kMaxU64);
  quotient.max = most / least;
  quotient.over_params = symbols_.OverParams(dividend) && symbols_.OverParams(divisor);
  quotient.wrapped = symbols_.Wrapped(dividend) || symbols_.Wrapped(divisor);
  quotient.dividend = dividend;
  quotient.divisor = divisor;
  Symbol remainder = quotient;
  remainder.kind = Symbol::Kind::kRemainder;
  remainder.name = "(" + symbols_.Text(dividend) + " % " + symbols_.Text(divisor) + ")";
  remainder.max = std::max<Int>(0, std::min(most, symbols_.High(divisor) - 1));
  const Sym q = symbols_.Add(std::move(quotient));
  const Sym r = symbols_.Add(std::move(remainder));
  symbols_[q].twin = r;
  symbols_[r].twin = q;
  const Poly back = divisor * Poly::Of(q);
  symbols_[q].facts = {dividend - back, back + divisor - Poly(1) - dividend};
  symbols_[r].facts = {divisor - Poly(1) - Poly::Of(r), dividend - back - Poly::Of(r), back + Poly::Of(r) - dividend};
  quotients_[{dividend, divisor}] = q;
  return {Poly::Of(q), Poly::Of(r)};
}

Poly Algebra::Min(const Poly& a, const Poly& b, Type type) {
  if (NotNegative(b - a)) return a;
  if (NotNegative(a - b)) return b;
  return Choose({{a, {b - a}}, {b, {a - b}}}, type);
}

Poly Algebra::Max(const Poly& a, const Poly& b, Type type) {
  if (NotNegative(b - a)) return b;
  if (NotNegative(a - b)) return a;
  return Choose({{a, {a - b}}, {b, {b - a}}}, type);
}

Poly Algebra::Choose(std::vector<Symbol::Case> cases, Type type) {
  QUERN_CHECK(cases.size() == 2);
  const Symbol::Case &a = cases[0], &b = cases[1];
  if (a.value == b.value) return a.value;
  const bool wrapped = symbols_.Wrapped(a.value) || symbols_.Wrapped(b.value);
  // Unsigned values were shown not to be negative where they were computed; a symbol cannot be negative.
  if (LowestOf(type) < 0 && std::min(symbols_.Low(a.value), symbols_.Low(b.value)) < 0)
    return Unknown("chosen", type, wrapped);
  // Without facts nothing says which case holds: two choices of equal cases may still differ.
  const bool keyed = !a.facts.empty() && !b.facts.empty();
  std::vector<Poly> key{a.value, b.value};
  for (const Symbol::Case& c : cases) {
    key.push_back(static_cast<Int>(c.facts.size()));
    key.insert(key.end(), c.facts.begin(), c.facts.end());
  }
  const auto id = std::tuple(std::string("choose"), key, 0);
  if (keyed && unknowns_.contains(id)) return unknowns_[id];
  const Int scale = std::max<Int>(Gcd(a.value.Content(), b.value.Content()), 1);
  Symbol symbol;
  symbol.kind = Symbol::Kind::kChoice;
  symbol.name = "(" + symbols_.Text(a.value) + " or " + symbols_.Text(b.value) + ")";
  const Int high = std::max(symbols_.High(a.value), symbols_.High(b.value));
  symbol.max = std::min(high, HighestOf(type)) / scale;
  symbol.wrapped = wrapped;
  symbol.over_params =
      keyed && std::all_of(key.begin(), key.end(), [&](const Poly& p) { return symbols_.OverParams(p); });
  symbol.cases = {{a.value.DividedBy(scale), a.facts}, {b.value.DividedBy(scale), b.facts}};
  const Sym s = symbols_.Add(std::move(symbol));
  const Poly value = Poly::Of(s) * Poly(scale);
  // For Min and Max a bound holds in both cases, so that most proofs need no split.
  const auto bound = [&](const Symbol::Case& c, const Symbol::Case& other) {
    const auto implied = [&](const Poly& p) { return std::find(c.facts.begin(), c.facts.end(), p) != c.facts.end(); };
    if (implied(other.value - c.value)) symbols_[s].facts.push_back(other.value - value);
    if (implied(c.value - other.value)) symbols_[s].facts.push_back(value - other.value);
  };
  bound(a, b);
  bound(b, a);
  if (keyed) unknowns_[id] = value;
  return value;
}

}  // namespace quern::kernels::ir::verify
