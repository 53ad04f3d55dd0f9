// Polynomials with integer coefficients over numbered symbols: what the verifier knows an integer expression to be.
// Exact: an overflow of a coefficient makes the polynomial invalid, and nothing is proved of it. Values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace quern::kernels::ir::verify {

__extension__ typedef __int128 Int;
inline constexpr Int kIntMax = (Int{1} << 126);

using SymbolId = uint32_t;
// The symbols of a product, newest (largest) first, with repetition; empty for the constant. Ordered by the newest.
using Monomial = std::vector<SymbolId>;

class Poly {
 public:
  Poly() = default;
  explicit Poly(Int constant) { Add({}, constant); }
  static Poly Of(SymbolId symbol);

  void Add(const Monomial& m, Int coefficient);
  const std::map<Monomial, Int>& terms() const { return terms_; }
  bool valid() const { return valid_; }
  bool IsZero() const { return valid_ && terms_.empty(); }
  // The value, when no symbol is left.
  std::optional<Int> Constant() const;
  Int constant_term() const;
  // The symbol, when the polynomial is nothing but one.
  std::optional<SymbolId> Single() const;
  std::vector<SymbolId> Symbols() const;  // without repetition, newest first
  bool Has(SymbolId symbol) const;

  // Greatest common divisor of the coefficients; without the constant if so asked; 0 when there are none.
  Int Content(bool with_constant = true) const;
  bool DivisibleBy(Int n) const { return valid_ && Content() % n == 0; }
  Poly DividedBy(Int n) const;  // every coefficient, towards minus infinity
  // *this = quotient * divisor + remainder, as far as terms divide. Invalid when that does not end.
  std::pair<Poly, Poly> Divided(const Poly& divisor) const;
  // The quotient, when `divisor` divides exactly.
  std::optional<Poly> Quotient(const Poly& divisor) const;
  Poly Substituted(SymbolId symbol, const Poly& value) const;

  Poly& operator+=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator-(const Poly& a, const Poly& b) { return a + b * Poly(-1); }
  friend Poly operator*(const Poly& a, const Poly& b);
  friend bool operator==(const Poly& a, const Poly& b) { return a.valid_ && b.valid_ && a.terms_ == b.terms_; }
  friend bool operator<(const Poly& a, const Poly& b) { return a.terms_ < b.terms_; }

 private:
  std::map<Monomial, Int> terms_;  // no zero coefficients
  bool valid_ = true;
};

// m / n for monomials, when n divides m.
std::optional<Monomial> Divide(const Monomial& m, const Monomial& n);
Monomial Multiply(const Monomial& a, const Monomial& b);

}  // namespace quern::kernels::ir::verify
