// Algebra: operations on polynomials that make new symbols: quotients, remainders, choices, unknown values. Equal
// operands give equal symbols, so that an offset and a guard that compute the same thing agree. Owned by one
// CheckAccesses call.
//
// What a symbol is defined by holds always, not under the facts of the moment: those are only used to simplify.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/ir/type.h"
#include "kernels/ir/verify/prover.h"
#include "kernels/ir/verify/symbols.h"

namespace quern::kernels::ir::verify {

Int LowestOf(Type type);
Int HighestOf(Type type);

class Algebra {
 public:
  Algebra() : prover_(symbols_) {}
  Algebra(const Algebra&) = delete;
  Algebra& operator=(const Algebra&) = delete;

  Symbols& symbols() { return symbols_; }
  const Symbols& symbols() const { return symbols_; }
  // The facts of the statement at hand. Statements push and pop them.
  Facts& facts() { return facts_; }
  bool NotNegative(const Poly& p) const { return prover_.NotNegative(p, facts_); }
  bool NotNegative(const Poly& p, const Facts& facts) const { return prover_.NotNegative(p, facts); }
  bool AtMost(const Poly& p, const Poly& bound) const { return prover_.NotNegative(bound - p, facts_); }
  bool InRange(const Poly& p, Type type) const { return AtMost(p, HighestOf(type)) && NotNegative(p - LowestOf(type)); }

  Poly Unknown(std::string name, Type type, bool wrapped = false);
  Poly UnknownBetween(std::string name, Int low, Int high, bool wrapped);
  // The same for equal operands of one operation.
  Poly UnknownOf(const std::string& operation, const std::vector<Poly>& operands, Type type, Int high, bool wrapped);
  // The value as the type has it: p itself if it provably fits, else an unknown that counts as wrapped.
  Poly Fit(const Poly& p, Type type);

  std::pair<Poly, Poly> Divide(const Poly& dividend, const Poly& divisor);  // quotient, remainder; divisor >= 1
  Poly Min(const Poly& a, const Poly& b, Type type);
  Poly Max(const Poly& a, const Poly& b, Type type);
  // One of two values, and what holds when it is that one.
  Poly Choose(std::vector<Symbol::Case> cases, Type type);

 private:
  std::pair<Poly, Poly> DivideRest(const Poly& dividend, const Poly& divisor);

  Symbols symbols_;
  Prover prover_;
  Facts facts_;
  std::map<std::pair<Poly, Poly>, Sym> quotients_;
  std::map<std::tuple<std::string, std::vector<Poly>, int>, Poly> unknowns_;
};

}  // namespace quern::kernels::ir::verify
