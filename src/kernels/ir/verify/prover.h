// Proofs that a polynomial is at least 0, given facts.
//
// The one step: a negative term is replaced through a fact that bounds it, times a product of symbols, which is at
// least 0. What is left must have no negative term. Integers allow two more: a goal's constant is rounded down by the
// common factor of the other terms, and a quotient floor(x / q) is replaced after the goal was multiplied by q. Where
// that fails, the alternatives of selections are tried one by one. Every step is sound; the search is bounded.
#pragma once

#include <set>

#include "kernels/ir/verify/symbols.h"

namespace quern::kernels::ir::verify {

// Quick: for what makes proofs shorter and need not succeed.
enum class Effort : uint8_t { kFull, kQuick };

class Prover {
 public:
  explicit Prover(const Symbols& symbols) : symbols_(symbols) {}

  bool NonNegative(const Poly& goal, const Known& known, Effort effort = Effort::kFull);
  // Adds a condition to what is known. An inequality counts when one side of it is known already.
  void Assume(const Fact& fact, Known& known);

 private:
  bool Cases(const Poly& goal, const Known& known, int splits, std::set<SymbolId>& resolved);
  bool Search(Poly goal, const Known& known);
  bool Replace(const Poly& goal, const Monomial& m, Int k, const Poly& fact, const Known& known);

  bool OfThread(SymbolId id) const;
  bool Guarded(SymbolId id, const Known& known) const;

  const Symbols& symbols_;
  std::set<Poly> seen_;
  int budget_ = 0;
  // What is tried first: constant bounds of the lane and the warp; those of them that no guard mentions; guards.
  enum class Order : uint8_t { kThreads, kUnguarded, kKnown } order_ = Order::kKnown;
};

// The same fact with its constant rounded down.
Poly Tightened(const Poly& p);

}  // namespace quern::kernels::ir::verify
