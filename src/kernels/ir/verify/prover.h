// Prover: whether a polynomial is >= 0 wherever given facts hold.
//
// It looks for a sum: p = sum of (polynomial without negative terms) * fact + terms without negative coefficients. Each
// step picks the negative term with the latest symbol and cancels it with a fact, so symbols are replaced by their
// bounds until parameters remain. Failing that, bounds of quotients are derived, then choices (min, select) are split
// into their cases. Bounded work: false means "not shown". Used by one thread.
#pragma once

#include <map>
#include <vector>

#include "kernels/ir/verify/symbols.h"

namespace quern::kernels::ir::verify {

class Prover {
 public:
  explicit Prover(const Symbols& symbols) : symbols_(symbols) {}

  bool NotNegative(const Poly& p, const Facts& facts) const { return Prove(p, facts, 2); }

 private:
  struct Search {
    const Facts* facts;
    int budget;
    std::map<Poly, int> failed;  // with this many steps left
  };

  bool Prove(const Poly& p, const Facts& facts, int splits) const;
  bool Step(Poly p, int depth, Search& search) const;
  // The facts that can matter for p, and those of all symbols in reach.
  Facts Closure(const Poly& p, const Facts& facts, std::vector<Sym>& reach) const;
  // Upper bounds of `p` over parameters.
  void UpperBounds(const Poly& p, const Facts& facts, int depth, std::vector<Poly>& out) const;
  Facts QuotientBounds(const std::vector<Sym>& reach, const Facts& facts) const;

  const Symbols& symbols_;
};

}  // namespace quern::kernels::ir::verify
