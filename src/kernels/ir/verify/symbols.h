// Symbols: the unknowns in the polynomials of one verification, and what holds of each of them always. A symbol is
// defined by earlier ones only, so that bounds lead from later to earlier symbols. Owned by one CheckAccesses call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/ir/verify/poly.h"

namespace quern::kernels::ir::verify {

inline constexpr Int kMaxU64 = (Int{1} << 64) - 1;

using Facts = std::vector<Poly>;  // each is >= 0

struct Symbol {
  enum class Kind { kParam, kTile, kWarp, kLane, kStep, kQuotient, kRemainder, kChoice, kOpaque };
  struct Case {
    Poly value;
    Facts facts;
  };

  Kind kind = Kind::kOpaque;
  std::string name;
  Int max = kMaxU64;
  bool over_params = false;  // depends on parameters alone
  bool wrapped = false;      // stands for an integer that may have wrapped, or depends on one
  Facts facts;
  Poly dividend, divisor;   // of quotients and remainders
  Sym twin = 0;             // the remainder of a quotient, and the reverse
  std::vector<Case> cases;  // kChoice: one of them holds
};

class Symbols {
 public:
  Sym Add(Symbol symbol);
  const Symbol& operator[](Sym sym) const { return symbols_[sym]; }
  Symbol& operator[](Sym sym) { return symbols_[sym]; }
  Sym size() const { return static_cast<Sym>(symbols_.size()); }

  bool OverParams(const Poly& p) const;
  bool Wrapped(const Poly& p) const;
  // Bounds from the symbols' constant bounds alone; a polynomial that is not ok has the widest.
  Int Low(const Poly& p) const;
  Int High(const Poly& p) const;
  std::string Text(const Poly& p) const;

 private:
  std::vector<Symbol> symbols_;
};

}  // namespace quern::kernels::ir::verify
