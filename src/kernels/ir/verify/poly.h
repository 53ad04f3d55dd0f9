// Polynomials with integer coefficients over symbols: what the verifier knows about the value of an integer expression.
// Plain values. Every symbol stands for an integer that is not negative.
//
// Arithmetic that leaves 128 bits makes a polynomial that is not ok(); nothing can be proven of it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace quern::kernels::ir::verify {

__extension__ typedef __int128 Int;  // NOLINT: a using-declaration cannot carry the keyword
using Sym = uint32_t;
using Monomial = std::vector<Sym>;  // sorted, with repetition; empty: the constant

Int Gcd(Int a, Int b);  // not negative; of 0 and x it is |x|

class Poly {
 public:
  Poly() = default;
  Poly(Int constant) { Put({}, constant); }  // NOLINT: numbers are polynomials
  static Poly Of(Sym sym) { return Term({sym}, 1); }
  static Poly Term(const Monomial& monomial, Int coefficient);

  const std::map<Monomial, Int>& terms() const { return terms_; }
  bool ok() const { return ok_; }
  Int Coefficient(const Monomial& monomial) const;
  Int constant() const { return Coefficient({}); }
  bool IsConstant() const { return ok_ && (terms_.empty() || (terms_.size() == 1 && terms_.begin()->first.empty())); }
  bool Contains(Sym sym) const;
  Int Content() const;  // greatest common divisor of the coefficients; 0 for 0

  Poly operator+(const Poly& o) const { return Combine(o, 1); }
  Poly operator-(const Poly& o) const { return Combine(o, -1); }
  Poly operator*(const Poly& o) const;
  Poly DividedBy(Int divisor) const;  // coefficients are multiples of it
  Poly Substitute(Sym sym, const Poly& value) const;
  void Put(const Monomial& monomial, Int coefficient);  // adds the term

  friend bool operator==(const Poly&, const Poly&) = default;
  friend bool operator<(const Poly& a, const Poly& b) { return a.terms_ < b.terms_; }

 private:
  Poly Combine(const Poly& o, int sign) const;

  std::map<Monomial, Int> terms_;  // no zero coefficients
  bool ok_ = true;
};

// Whether `part` divides `whole`; the quotient goes to `rest`.
bool Divides(const Monomial& part, const Monomial& whole, Monomial& rest);
Monomial Product(const Monomial& a, const Monomial& b);

}  // namespace quern::kernels::ir::verify
