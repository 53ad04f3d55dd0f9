#include "kernels/ir/verify/digits.h"

#include <algorithm>

namespace quern::kernels::ir::verify {

std::optional<Digits> DigitsOf(const Symbols& symbols, const Poly& p) {
  Digits digits;
  if (!p.ok()) return std::nullopt;
  for (const auto& [monomial, c] : p.terms()) {
    Monomial rest;
    std::optional<Sym> digit;
    for (const Sym s : monomial) {
      if (symbols[s].over_params) {
        rest.push_back(s);
      } else if (digit) {
        return std::nullopt;
      } else {
        digit = s;
      }
    }
    (digit ? digits.strides[*digit] : digits.base).Put(rest, c);
  }
  return digits;
}

bool DigitProver::Distinct(const std::map<Sym, Poly>& strides, Int size, const Facts& facts) const {
  const Symbols& symbols = algebra_.symbols();
  std::vector<std::pair<Sym, Poly>> left(strides.begin(), strides.end());
  std::stable_sort(left.begin(), left.end(),
                   [&](const auto& a, const auto& b) { return symbols.High(a.second) < symbols.High(b.second); });
  // Every stride must be at least what all smaller digits together reach.
  Poly reach = size;
  while (!left.empty()) {
    const auto next = std::find_if(
        left.begin(), left.end(), [&](const auto& digit) { return algebra_.NotNegative(digit.second - reach, facts); });
    if (next == left.end()) return false;
    reach = reach + next->second * Poly::Of(next->first);
    left.erase(next);
  }
  return true;
}

// `value` is the same for both: so are its digits, if they are distinct once the known ones are taken away.
bool DigitProver::LearnFrom(const Poly& value, std::set<Sym>& known, const Facts& facts) const {
  const auto digits = DigitsOf(algebra_.symbols(), value);
  if (!digits) return false;
  std::map<Sym, Poly> unknown;
  for (const auto& [s, stride] : digits->strides)
    if (!known.contains(s)) unknown[s] = stride;
  if (unknown.empty() || !Distinct(unknown, 1, facts)) return false;
  for (const auto& [s, stride] : unknown) known.insert(s);
  return true;
}

bool DigitProver::Learn(std::set<Sym>& known, const Facts& facts) const {
  bool learned = false;
  for (const Poly& fact : facts) {
    // A sum that is at most zero: all of it is zero. Or an equation, given by both directions.
    const bool zero = fact.constant() == 0 &&
                      std::all_of(fact.terms().begin(), fact.terms().end(), [](const auto& t) { return t.second < 0; });
    const Poly opposite = Poly(0) - fact;
    if (zero) {
      for (const auto& [monomial, c] : fact.terms())
        if (monomial.size() == 1) learned = known.insert(monomial[0]).second || learned;
    } else if (std::find(facts.begin(), facts.end(), opposite) != facts.end()) {
      learned = LearnFrom(fact, known, facts) || LearnFrom(opposite, known, facts) || learned;
    }
  }
  const Symbols& symbols = algebra_.symbols();
  for (Sym s = 0; s < symbols.size(); ++s) {
    if (symbols[s].kind != Symbol::Kind::kQuotient) continue;
    const auto digits = DigitsOf(symbols, symbols[s].dividend);
    if (!digits || !symbols.OverParams(symbols[s].divisor)) continue;
    if (known.contains(s) && known.contains(symbols[s].twin)) {
      learned = LearnFrom(symbols[s].dividend, known, facts) || learned;
    } else if (std::all_of(digits->strides.begin(), digits->strides.end(),
                           [&](const auto& d) { return known.contains(d.first); })) {
      learned = known.insert(s).second || learned;
      learned = known.insert(symbols[s].twin).second || learned;
    }
  }
  return learned;
}

bool DigitProver::TellThread(std::set<Sym> known, const Facts& facts) const {
  if (threads_.one_tile) known.insert(threads_.tile);
  if (threads_.one_warp) known.insert(threads_.warp);
  while (Learn(known, facts)) {
  }
  return known.contains(threads_.tile) && known.contains(threads_.warp) && known.contains(threads_.lane);
}

}  // namespace quern::kernels::ir::verify
