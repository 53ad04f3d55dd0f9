#include "kernels/ir/verify/divide.h"

namespace quern::kernels::ir::verify {
namespace {

// Degree first, then the symbols: a product's leading term is the product of the leading terms.
bool Before(const Monomial& a, const Monomial& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

}  // namespace

Split SplitBy(const Poly& p, const Poly& divisor) {
  Split split{Poly(), p};
  if (!p.ok() || !divisor.ok() || divisor == Poly(0)) return split;
  if (divisor.IsConstant()) {
    const Int by = divisor.constant();
    if (by < 0) return split;
    for (const auto& [monomial, c] : p.terms()) {
      Int whole = c / by;
      if (monomial.empty() && c % by < 0) --whole;
      if (!monomial.empty() && c % by != 0) continue;
      split.whole.Put(monomial, whole);
    }
    split.rest = p - split.whole * divisor;
    return split;
  }
  const auto* leading = &*divisor.terms().begin();
  for (const auto& term : divisor.terms())
    if (Before(leading->first, term.first)) leading = &term;
  for (int step = 0; step < 64; ++step) {
    Poly quotient;
    for (const auto& [monomial, c] : split.rest.terms()) {
      Monomial rest;
      if (c % leading->second != 0 || !Divides(leading->first, monomial, rest)) continue;
      quotient.Put(rest, c / leading->second);
      break;
    }
    if (quotient == Poly()) break;
    split.whole = split.whole + quotient;
    split.rest = split.rest - quotient * divisor;
  }
  return split;
}

Int PowerOfTwoIn(const Poly& p) {
  const Int content = p.Content();
  return content == 0 ? Int{1} << 63 : content & -content;
}

}  // namespace quern::kernels::ir::verify
