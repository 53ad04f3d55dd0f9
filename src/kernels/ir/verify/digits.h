// Offsets as numbers with mixed radix: base + sum of stride * digit, where the digits are the tile, the warp, the lane,
// loop steps, or their quotients and remainders, and strides are over parameters. Answers whether equal offsets imply
// equal digits, and whether digits tell the thread. Stateless but for what it refers to.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "kernels/ir/verify/accesses.h"

namespace quern::kernels::ir::verify {

struct Digits {
  Poly base;  // over parameters
  std::map<Sym, Poly> strides;
};
// None if a term has two index symbols.
std::optional<Digits> DigitsOf(const Symbols& symbols, const Poly& p);

class DigitProver {
 public:
  DigitProver(const Algebra& algebra, const ThreadSymbols& threads) : algebra_(algebra), threads_(threads) {}

  // Whether two choices of digits, for both of which the facts hold, give numbers that differ by at least `size` unless
  // all digits are equal.
  bool Distinct(const std::map<Sym, Poly>& strides, Int size, const Facts& facts) const;

  // Whether the known symbols, with the facts, determine tile, warp and lane.
  bool TellThread(std::set<Sym> known, const Facts& facts) const;

 private:
  bool LearnFrom(const Poly& value, std::set<Sym>& known, const Facts& facts) const;
  bool Learn(std::set<Sym>& known, const Facts& facts) const;

  const Algebra& algebra_;
  const ThreadSymbols& threads_;
};

}  // namespace quern::kernels::ir::verify
