#include "kernels/ir/verify/polynomial.h"

#include <algorithm>
#include <numeric>

namespace quern::kernels::ir::verify {
namespace {

constexpr size_t kMaxTerms = 400;  // beyond it nothing sensible comes out
// Far beyond any size of memory, and far enough below 2^127 that sums of a few coefficients need no check.
constexpr Int kMaxCoefficient = Int{1} << 120;

Int Gcd(Int a, Int b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

}  // namespace

std::optional<Monomial> Divide(const Monomial& m, const Monomial& n) {
  Monomial rest;
  size_t j = 0;
  for (const SymbolId s : m) {
    if (j < n.size() && n[j] == s) {
      ++j;
    } else {
      rest.push_back(s);
    }
  }
  if (j != n.size()) return std::nullopt;
  return rest;
}

Monomial Multiply(const Monomial& a, const Monomial& b) {
  Monomial m(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), m.begin(), std::greater<>());
  return m;
}

Poly Poly::Of(SymbolId symbol) {
  Poly p;
  p.Add({symbol}, 1);
  return p;
}

void Poly::Add(const Monomial& m, Int coefficient) {
  if (coefficient == 0) return;
  const auto [it, added] = terms_.try_emplace(m, coefficient);
  if (!added && __builtin_add_overflow(it->second, coefficient, &it->second)) valid_ = false;
  if (it->second > kMaxCoefficient || it->second < -kMaxCoefficient) {
    valid_ = false;
    it->second = 0;
  }
  if (it->second == 0) terms_.erase(it);
  if (terms_.size() > kMaxTerms) valid_ = false;
}

std::optional<Int> Poly::Constant() const {
  if (!valid_ || terms_.size() > 1 || (terms_.size() == 1 && !terms_.begin()->first.empty())) return std::nullopt;
  return constant_term();
}

Int Poly::constant_term() const {
  const auto it = terms_.find({});
  return it == terms_.end() ? 0 : it->second;
}

std::optional<SymbolId> Poly::Single() const {
  if (!valid_ || terms_.size() != 1) return std::nullopt;
  const auto& [m, c] = *terms_.begin();
  if (m.size() != 1 || c != 1) return std::nullopt;
  return m[0];
}

std::vector<SymbolId> Poly::Symbols() const {
  std::vector<SymbolId> out;
  for (const auto& [m, c] : terms_) out.insert(out.end(), m.begin(), m.end());
  std::sort(out.begin(), out.end(), std::greater<>());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Poly::Has(SymbolId symbol) const {
  return std::any_of(terms_.begin(), terms_.end(), [&](const auto& term) {
    return std::find(term.first.begin(), term.first.end(), symbol) != term.first.end();
  });
}

Int Poly::Content(bool with_constant) const {
  Int content = 0;
  for (const auto& [m, c] : terms_) {
    if (with_constant || !m.empty()) content = Gcd(content, c);
  }
  return content;
}

Poly Poly::DividedBy(Int n) const {
  Poly out;
  out.valid_ = valid_;
  for (const auto& [m, c] : terms_) out.Add(m, c / n - (c % n != 0 && (c < 0) != (n < 0) ? 1 : 0));
  return out;
}

std::pair<Poly, Poly> Poly::Divided(const Poly& divisor) const {
  Poly rest = *this, quotient;
  rest.valid_ = valid_ && divisor.valid_ && !divisor.terms_.empty();
  for (int step = 0; rest.valid_; ++step) {
    const auto& [lead, lead_c] = *divisor.terms_.rbegin();
    auto it = rest.terms_.rbegin();
    while (it != rest.terms_.rend() && (it->second % lead_c != 0 || !Divide(it->first, lead))) ++it;
    if (it == rest.terms_.rend()) break;
    // The order is no monomial order in the strict sense: give up rather than run on.
    if (step > 50) rest.valid_ = false;
    Poly factor;
    factor.Add(*Divide(it->first, lead), it->second / lead_c);
    quotient += factor;
    rest = rest - factor * divisor;
  }
  return {quotient, rest};
}

std::optional<Poly> Poly::Quotient(const Poly& divisor) const {
  auto [quotient, rest] = Divided(divisor);
  if (!rest.IsZero()) return std::nullopt;
  return quotient;
}

Poly Poly::Substituted(SymbolId symbol, const Poly& value) const {
  if (!Has(symbol)) return *this;
  Poly out;
  out.valid_ = valid_;
  for (const auto& [m, c] : terms_) {
    Monomial rest;
    Poly term(1);
    for (const SymbolId s : m) {
      if (s == symbol) {
        term = term * value;
      } else {
        rest.push_back(s);
      }
    }
    Poly factor;
    factor.Add(rest, c);
    out += factor * term;
  }
  return out;
}

Poly& Poly::operator+=(const Poly& other) {
  valid_ = valid_ && other.valid_;
  for (const auto& [m, c] : other.terms_) Add(m, c);
  return *this;
}

Poly operator*(const Poly& a, const Poly& b) {
  Poly out;
  out.valid_ = a.valid_ && b.valid_;
  for (const auto& [m, c] : a.terms_) {
    for (const auto& [n, d] : b.terms_) {
      Int product;
      if (__builtin_mul_overflow(c, d, &product))
        out.valid_ = false;
      else
        out.Add(Multiply(m, n), product);
      if (!out.valid_) return out;
    }
  }
  return out;
}

}  // namespace quern::kernels::ir::verify
