#include "kernels/ir/verify/poly.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace quern::kernels::ir::verify {

Int Gcd(Int a, Int b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

Poly Poly::Term(const Monomial& monomial, Int coefficient) {
  Poly p;
  p.Put(monomial, coefficient);
  return p;
}

void Poly::Put(const Monomial& monomial, Int coefficient) {
  if (coefficient == 0) return;
  const auto [it, added] = terms_.emplace(monomial, coefficient);
  if (added) return;
  if (__builtin_add_overflow(it->second, coefficient, &it->second)) ok_ = false;
  if (it->second == 0) terms_.erase(it);
}

Int Poly::Coefficient(const Monomial& monomial) const {
  const auto it = terms_.find(monomial);
  return it == terms_.end() ? 0 : it->second;
}

bool Poly::Contains(Sym sym) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const auto& t) { return std::find(t.first.begin(), t.first.end(), sym) != t.first.end(); });
}

Int Poly::Content() const {
  Int content = 0;
  for (const auto& [monomial, c] : terms_) content = Gcd(content, c);
  return content;
}

Poly Poly::Combine(const Poly& o, int sign) const {
  Poly sum = *this;
  sum.ok_ = ok_ && o.ok_;
  for (const auto& [monomial, c] : o.terms_) sum.Put(monomial, c * sign);
  return sum;
}

Poly Poly::operator*(const Poly& o) const {
  Poly product;
  product.ok_ = ok_ && o.ok_;
  for (const auto& [ma, ca] : terms_) {
    for (const auto& [mb, cb] : o.terms_) {
      Int c = 0;
      if (__builtin_mul_overflow(ca, cb, &c)) product.ok_ = false;
      product.Put(Product(ma, mb), c);
    }
  }
  return product;
}

Poly Poly::DividedBy(Int divisor) const {
  Poly quotient;
  quotient.ok_ = ok_;
  for (const auto& [monomial, c] : terms_) quotient.Put(monomial, c / divisor);
  return quotient;
}

Poly Poly::Substitute(Sym sym, const Poly& value) const {
  Poly result;
  result.ok_ = ok_;
  for (const auto& [monomial, c] : terms_) {
    Monomial rest;
    Poly term = c;
    for (const Sym s : monomial) {
      if (s == sym)
        term = term * value;
      else
        rest.push_back(s);
    }
    result = result + term * Term(rest, 1);
  }
  return result;
}

bool Divides(const Monomial& part, const Monomial& whole, Monomial& rest) {
  if (!std::includes(whole.begin(), whole.end(), part.begin(), part.end())) return false;
  rest.clear();
  std::set_difference(whole.begin(), whole.end(), part.begin(), part.end(), std::back_inserter(rest));
  return true;
}

Monomial Product(const Monomial& a, const Monomial& b) {
  Monomial product;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product));
  return product;
}

}  // namespace quern::kernels::ir::verify
