#include "kernels/ir/verify/prover.h"

#include <algorithm>

namespace quern::kernels::ir::verify {
namespace {

constexpr int kNodes = 150;  // of one search
constexpr int kQuickNodes = 25;
constexpr int kSplits = 5;  // selections tried at once

}  // namespace

Poly Tightened(const Poly& p) {
  const Int content = p.Content(false);
  return content > 1 ? p.DividedBy(content) : p;
}

void Prover::Assume(const Fact& fact, Known& known) {
  if (!fact.nonzero) {
    known.push_back(Tightened(fact.poly));
    return;
  }
  const Poly negated = fact.poly * Poly(-1);
  if (NonNegative(fact.poly, known, Effort::kQuick)) {
    known.push_back(Tightened(fact.poly - Poly(1)));
  } else if (NonNegative(negated, known, Effort::kQuick)) {
    known.push_back(Tightened(negated - Poly(1)));
  }
}

bool Prover::NonNegative(const Poly& goal, const Known& known, Effort effort) {
  if (!goal.valid()) return false;
  if (effort == Effort::kQuick) {
    budget_ = kQuickNodes;
    seen_.clear();
    return Search(goal, known);
  }
  std::set<SymbolId> resolved;
  return Cases(goal, known, kSplits, resolved);
}

bool Prover::Cases(const Poly& goal, const Known& known, int splits, std::set<SymbolId>& resolved) {
  if (symbols_.Low(goal) >= 0) return true;
  // What guards say, or what symbols are by definition: which of them is the tighter bound is not known beforehand.
  for (const Order order : {Order::kThreads, Order::kUnguarded, Order::kKnown}) {
    budget_ = kNodes;
    order_ = order;
    seen_.clear();
    if (Search(goal, known)) return true;
    if (known.empty()) break;
  }
  if (splits > 0) {
    // The newest selection that the goal is about, or a fact that shares a symbol with the goal.
    std::set<SymbolId> mentioned;
    for (const SymbolId s : goal.Symbols()) mentioned.insert(s);
    std::set<SymbolId> near = mentioned;
    for (const Poly& fact : known) {
      const std::vector<SymbolId> in_fact = fact.Symbols();
      const bool shares = std::any_of(in_fact.begin(), in_fact.end(),
                                      [&](SymbolId s) { return mentioned.count(s) != 0 && !symbols_.at(s).uniform; });
      if (shares) near.insert(in_fact.begin(), in_fact.end());
    }
    for (auto it = near.rbegin(); it != near.rend(); ++it) {
      const SymbolId s = *it;
      if (symbols_.at(s).alternatives.empty() || !resolved.insert(s).second) continue;
      bool all = true;
      for (const Alternative& a : symbols_.at(s).alternatives) {
        Known inside;
        for (const Poly& fact : known) inside.push_back(Tightened(fact.Substituted(s, a.value)));
        Prover apart(symbols_);
        for (const Fact& f : a.facts) apart.Assume({f.poly.Substituted(s, a.value), f.nonzero}, inside);
        inside.push_back(a.value - Poly::Of(s));
        inside.push_back(Poly::Of(s) - a.value);
        all = all && apart.Cases(goal.Substituted(s, a.value), inside, splits - 1, resolved);
        if (!all) break;
      }
      resolved.erase(s);
      if (all) return true;
      break;
    }
  }
  // Where control never is, everything holds.
  if (splits == kSplits) return false;
  budget_ = kQuickNodes;
  seen_.clear();
  return Search(Poly(-1), known);
}

// A symbol with a constant range that it takes wholly, like the lane, or a quotient or remainder of it.
bool Prover::OfThread(SymbolId id) const {
  const Symbol& s = symbols_.at(id);
  if (s.kind == Symbol::Kind::kFree) return s.of_thread;
  const std::vector<SymbolId> parts = s.num.Symbols();
  return s.den.Constant() && std::all_of(parts.begin(), parts.end(), [&](SymbolId part) { return OfThread(part); });
}

bool Prover::Guarded(SymbolId id, const Known& known) const {
  // A guard on a number bounds its quotients, hardly its remainders.
  std::vector<SymbolId> parts;
  if (symbols_.at(id).kind == Symbol::Kind::kDiv) parts = symbols_.at(id).num.Symbols();
  parts.push_back(id);
  return std::any_of(known.begin(), known.end(), [&](const Poly& fact) {
    return std::any_of(parts.begin(), parts.end(), [&](SymbolId part) { return fact.Has(part); });
  });
}

bool Prover::Replace(const Poly& goal, const Monomial& m, Int k, const Poly& fact, const Known& known) {
  for (auto it = fact.terms().rbegin(); it != fact.terms().rend(); ++it) {
    const auto& [n, c] = *it;
    if (c >= 0 || (n.empty() && !m.empty())) continue;
    const auto q = Divide(m, n);
    if (!q) continue;
    Poly factor;
    factor.Add(*q, k);
    // Of integers, with c negative, -c * goal - c - 1 >= 0 says the same as goal >= 0.
    if (Search(goal * Poly(-c) + Poly(-c - 1) - factor * fact, known)) return true;
  }
  return false;
}

bool Prover::Search(Poly goal, const Known& known) {
  if (!goal.valid()) return false;
  goal = Tightened(goal);
  // Parameters last: what other symbols leave behind is over parameters.
  const auto varies = [&](SymbolId s) { return !symbols_.at(s).uniform; };
  const auto leads = [&](SymbolId s) {
    return order_ != Order::kKnown && OfThread(s) && (order_ == Order::kThreads || !Guarded(s, known));
  };
  // Numbers of threads first, when definitions lead: their bounds are exact, and the rest may round.
  const auto rank = [&](const Monomial& term) {
    if (std::any_of(term.begin(), term.end(), leads)) return 2;
    return std::any_of(term.begin(), term.end(), varies) ? 1 : 0;
  };
  auto negative = goal.terms().rend();
  int best = -1;
  for (auto it = goal.terms().rbegin(); it != goal.terms().rend(); ++it) {
    if (it->second > 0 || rank(it->first) <= best) continue;
    negative = it;
    best = rank(it->first);
  }
  if (negative == goal.terms().rend() || symbols_.Low(goal) >= 0) return true;
  if (--budget_ < 0 || !seen_.insert(goal).second) return false;
  const Monomial m = negative->first;
  const Int k = -negative->second;

  const auto by_known = [&] {
    return std::any_of(known.rbegin(), known.rend(),
                       [&](const Poly& fact) { return Replace(goal, m, k, fact, known); });
  };
  if (order_ == Order::kKnown && by_known()) return true;
  Monomial own = m;
  own.erase(std::unique(own.begin(), own.end()), own.end());
  if (std::any_of(own.begin(), own.end(), varies))
    own.erase(std::remove_if(own.begin(), own.end(), [&](SymbolId s) { return !varies(s); }), own.end());
  const auto rest_of = [&](SymbolId s) {
    Poly rest;
    rest.Add(*Divide(m, {s}), k);
    return rest;
  };
  for (const SymbolId s : own) {
    if (leads(s) && Search(goal - rest_of(s) * (Poly(symbols_.at(s).hi) - Poly::Of(s)), known)) return true;
  }
  // Bounds of the term's own symbols come first, numbers last.
  for (const SymbolId s : own) {
    for (const Poly& fact : symbols_.at(s).facts) {
      if (Replace(goal, m, k, fact, known)) return true;
    }
  }
  for (const SymbolId s : own) {
    const Symbol& symbol = symbols_.at(s);
    if (symbol.kind != Symbol::Kind::kDiv) continue;
    // den * goal + den - 1 >= 0 says the same of integers, and den * s <= num.
    const Poly& den = symbol.den;
    if (Search(den * goal + den - Poly(1) - rest_of(s) * (symbol.num - den * Poly::Of(s)), known)) return true;
  }
  if (order_ != Order::kKnown && by_known()) return true;
  for (const SymbolId s : own) {
    if (varies(s) && symbols_.at(s).facts.empty() &&
        Search(goal - rest_of(s) * (Poly(symbols_.at(s).hi) - Poly::Of(s)), known)) {
      return true;
    }
  }
  for (const SymbolId s : goal.Symbols()) {
    if (std::find(own.begin(), own.end(), s) != own.end()) continue;
    for (const Poly& fact : symbols_.at(s).facts) {
      if (Replace(goal, m, k, fact, known)) return true;
    }
  }
  // A guard on a remainder says something of the number itself.
  for (const Poly& guard : known) {
    for (const SymbolId s : guard.Symbols()) {
      if (symbols_.at(s).kind != Symbol::Kind::kMod || goal.Has(s)) continue;
      for (const Poly& fact : symbols_.at(s).facts) {
        if (Replace(goal, m, k, fact, known)) return true;
      }
    }
  }
  for (const SymbolId s : own) {
    if ((!varies(s) || !symbols_.at(s).facts.empty()) &&
        Search(goal - rest_of(s) * (Poly(symbols_.at(s).hi) - Poly::Of(s)), known))
      return true;
  }
  return false;
}

}  // namespace quern::kernels::ir::verify
