#include "kernels/ir/verify/prover.h"

#include <algorithm>
#include <set>

#include "kernels/ir/verify/divide.h"

namespace quern::kernels::ir::verify {
namespace {

// p >= 0 for integers exactly if this is >= 0: divided by the common divisor of the terms with symbols.
Poly Tightened(const Poly& p) {
  Poly symbolic = p - p.constant();
  const Int content = symbolic.Content();
  if (content <= 1) return p;
  const Int constant = p.constant();
  const Int floor = constant >= 0 ? constant / content : -((-constant + content - 1) / content);
  return symbolic.DividedBy(content) + floor;
}

// By the latest symbol, then the next one.
bool Later(const Monomial& a, const Monomial& b) {
  return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

// The negative term to remove first: that with the latest symbol; the constant last. Null if none is negative.
const Monomial* WorstTerm(const Poly& p) {
  const Monomial* worst = nullptr;
  for (const auto& [monomial, c] : p.terms())
    if (c < 0 && (worst == nullptr || Later(monomial, *worst))) worst = &monomial;
  return worst;
}

// The negative terms of p that are multiples of the fact's term, over it: what to multiply the fact by.
Poly Multiplier(const Poly& p, const Monomial& term, const Monomial* only) {
  Poly multiplier;
  Monomial rest;
  for (const auto& [monomial, c] : p.terms())
    if (c < 0 && (only == nullptr || monomial == *only) && Divides(term, monomial, rest)) multiplier.Put(rest, -c);
  return multiplier;
}

}  // namespace

bool Prover::Step(Poly p, int depth, Search& search) const {
  if (!p.ok()) return false;
  p = Tightened(p);
  if (symbols_.Low(p) >= 0) return true;
  if (depth == 0 || search.budget <= 0) return false;
  const auto known = search.failed.find(p);
  if (known != search.failed.end() && known->second >= depth) return false;
  --search.budget;
  const Monomial target = *WorstTerm(p);
  Monomial rest;
  for (const Poly& fact : *search.facts) {
    for (const auto& [term, c] : fact.terms()) {
      // A constant could cancel any term; let it cancel constants only, or nothing would end.
      if (c >= 0 || (term.empty() && !target.empty()) || !Divides(term, target, rest)) continue;
      const Poly one = Multiplier(p, term, &target);
      const Poly all = term.empty() ? one : Multiplier(p, term, nullptr);
      // For integers, p >= 0 if k p + k - 1 >= 0.
      const Poly scaled = p * Poly(-c) + Poly(-c - 1);
      if (Step(scaled - all * fact, depth - 1, search)) return true;
      if (!(one == all) && Step(scaled - one * fact, depth - 1, search)) return true;
    }
  }
  search.failed[p] = depth;
  return false;
}

Facts Prover::Closure(const Poly& p, const Facts& facts, std::vector<Sym>& reach) const {
  Facts of_symbols;
  std::set<Sym> seen;
  const auto visit = [&](const Poly& poly) {
    for (const auto& [monomial, c] : poly.terms())
      for (const Sym s : monomial)
        if (seen.insert(s).second) reach.push_back(s);
  };
  visit(p);
  std::vector<bool> used(facts.size());
  size_t next = 0;
  for (bool grew = true; grew;) {
    for (; next < reach.size(); ++next) {
      const Symbol& symbol = symbols_[reach[next]];
      for (const Poly& fact : symbol.facts) {
        of_symbols.push_back(fact);
        visit(fact);
      }
      if (symbol.max < kMaxU64) of_symbols.push_back(Poly(symbol.max) - Poly::Of(reach[next]));
    }
    // A fact about other things comes in when a symbol links it.
    grew = false;
    for (size_t i = 0; i < facts.size(); ++i) {
      const bool linked = std::any_of(facts[i].terms().begin(), facts[i].terms().end(), [&](const auto& t) {
        return t.first.empty() ? facts[i].IsConstant()
                               : std::any_of(t.first.begin(), t.first.end(), [&](Sym s) { return seen.contains(s); });
      });
      if (used[i] || !linked) continue;
      used[i] = true;
      grew = true;
      visit(facts[i]);
    }
  }
  // The innermost guards first: they are what the kernel's author meant.
  Facts ordered;
  for (size_t i = facts.size(); i-- > 0;)
    if (used[i]) ordered.push_back(Tightened(facts[i]));
  ordered.insert(ordered.end(), of_symbols.begin(), of_symbols.end());
  return ordered;
}

void Prover::UpperBounds(const Poly& p, const Facts& facts, int depth, std::vector<Poly>& out) const {
  if (!p.ok() || out.size() >= 6) return;
  // Negative terms of index symbols are at most zero.
  Poly kept = p;
  for (const auto& [monomial, c] : p.terms())
    if (c < 0 && !symbols_.OverParams(Poly::Term(monomial, 1))) kept.Put(monomial, -c);
  if (symbols_.OverParams(kept)) {
    if (std::find(out.begin(), out.end(), kept) == out.end()) out.push_back(kept);
    return;
  }
  if (depth == 0) return;
  const Poly minus = Poly(0) - kept;
  Monomial target;
  for (const auto& [monomial, c] : minus.terms())
    if (c < 0 && !symbols_.OverParams(Poly::Term(monomial, 1)) && (target.empty() || Later(monomial, target)))
      target = monomial;
  Monomial rest;
  for (const Poly& fact : facts)
    for (const auto& [term, c] : fact.terms())
      if (c == -1 && !term.empty() && Divides(term, target, rest))
        UpperBounds(p + Multiplier(minus, term, &target) * fact, facts, depth - 1, out);
}

Facts Prover::QuotientBounds(const std::vector<Sym>& reach, const Facts& facts) const {
  Facts bounds;
  for (const Sym s : reach) {
    const Symbol& symbol = symbols_[s];
    if (symbol.kind != Symbol::Kind::kQuotient) continue;
    std::vector<Poly> uppers;
    UpperBounds(symbol.dividend, facts, 6, uppers);
    for (const Poly& upper : uppers) {
      // dividend <= upper = divisor * whole + rest with rest < divisor: the quotient is at most `whole`.
      const Split split = SplitBy(upper, symbol.divisor);
      Search search{&facts, 200, {}};
      if (Step(Poly(-1) - split.rest, 6, search))
        bounds.push_back(split.whole - Poly(1) - Poly::Of(s));
      else if (Step(symbol.divisor - Poly(1) - split.rest, 6, search))
        bounds.push_back(split.whole - Poly::Of(s));
    }
  }
  return bounds;
}

bool Prover::Prove(const Poly& p, const Facts& facts, int splits) const {
  if (!p.ok()) return false;
  if (symbols_.Low(p) >= 0) return true;
  std::vector<Sym> reach;
  Facts all = Closure(p, facts, reach);
  const auto search = [&](int budget) {
    for (const int depth : {3, 6, 12}) {
      Search work{&all, budget, {}};
      if (Step(p, depth, work)) return true;
    }
    return false;
  };
  if (search(400)) return true;
  const Facts derived = QuotientBounds(reach, all);
  if (!derived.empty()) {
    all.insert(all.begin(), derived.begin(), derived.end());
    if (search(600)) return true;
  }
  if (splits == 0) return false;
  std::sort(reach.rbegin(), reach.rend());
  for (const Sym s : reach) {
    if (symbols_[s].kind != Symbol::Kind::kChoice) continue;
    return std::all_of(symbols_[s].cases.begin(), symbols_[s].cases.end(), [&](const Symbol::Case& c) {
      Facts in_case;
      for (const Poly& fact : facts) in_case.push_back(fact.Substitute(s, c.value));
      in_case.insert(in_case.end(), c.facts.begin(), c.facts.end());
      return Prove(p.Substitute(s, c.value), in_case, splits - 1);
    });
  }
  return false;
}

}  // namespace quern::kernels::ir::verify
