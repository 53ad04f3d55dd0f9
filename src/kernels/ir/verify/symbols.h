// The symbols of a proof, and what is true of each by its definition. Every symbol is an integer that is at least 0.
//
// Facts are polynomials that are at least 0. Those of a symbol hold always; others hold where control is, and their
// owner keeps them. One table serves the proofs of one kernel.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ir/verify/polynomial.h"

namespace quern::kernels::ir::verify {

struct Fact {
  Poly poly;
  bool nonzero = false;  // poly != 0, instead of poly >= 0
};
using Facts = std::vector<Fact>;
using Known = std::vector<Poly>;  // each at least 0

// What a symbol may be: `value`, where `facts` hold. One of a symbol's alternatives is true.
struct Alternative {
  Facts facts;
  Poly value;
};

struct Symbol {
  std::string name;
  Int hi = 0;
  bool uniform = false;    // a function of the parameters
  bool of_thread = false;  // the lane or the warp
  bool data = false;       // from memory or of unknown origin
  Known facts;
  // floor(num / den), or num mod den, with den >= 1.
  enum class Kind : uint8_t { kFree, kDiv, kMod } kind = Kind::kFree;
  Poly num, den;
  std::vector<Alternative> alternatives;
};

class Symbols {
 public:
  SymbolId Add(std::string name, Int hi, bool uniform = false);
  const Symbol& at(SymbolId id) const { return table_[id]; }
  Symbol& at(SymbolId id) { return table_[id]; }
  SymbolId size() const { return static_cast<SymbolId>(table_.size()); }

  // x / q and x mod q for x >= 0 and q >= 1. Known: what holds where x was computed.
  Poly Div(const Poly& x, const Poly& q, const Known& known) { return Divide(x, q, known).first; }
  Poly Mod(const Poly& x, const Poly& q, const Known& known) { return Divide(x, q, known).second; }

  // Bounds by intervals; those of a symbol may be narrowed by what is known.
  Int Low(const Poly& p, const Known& known = {}) const;
  Int High(const Poly& p, const Known& known = {}) const;
  bool Uniform(const Poly& p) const;

  std::string Text(const Poly& p) const;

 private:
  std::pair<Poly, Poly> Divide(const Poly& x, const Poly& q, const Known& known);
  Int HighOf(SymbolId id, const Known& known) const;

  std::vector<Symbol> table_;
  std::map<std::pair<Poly, Poly>, std::pair<SymbolId, SymbolId>> divisions_;
};

}  // namespace quern::kernels::ir::verify
