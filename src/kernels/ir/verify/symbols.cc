#include "kernels/ir/verify/symbols.h"

#include <algorithm>

namespace quern::kernels::ir::verify {
namespace {

constexpr Int kWidest = Int{1} << 120;

Int Saturated(Int a, Int b, bool product) {
  Int result = 0;
  const bool overflow = product ? __builtin_mul_overflow(a, b, &result) : __builtin_add_overflow(a, b, &result);
  const bool negative = product ? (a < 0) != (b < 0) : a < 0;
  if (overflow) return negative ? -kWidest : kWidest;
  return std::clamp(result, -kWidest, kWidest);
}

std::string Decimal(Int value) {
  std::string digits;
  const bool negative = value < 0;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (negative) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

}  // namespace

Sym Symbols::Add(Symbol symbol) {
  symbols_.push_back(std::move(symbol));
  return size() - 1;
}

bool Symbols::OverParams(const Poly& p) const {
  for (const auto& [monomial, c] : p.terms())
    for (const Sym s : monomial)
      if (!symbols_[s].over_params) return false;
  return p.ok();
}

bool Symbols::Wrapped(const Poly& p) const {
  for (const auto& [monomial, c] : p.terms())
    for (const Sym s : monomial)
      if (symbols_[s].wrapped) return true;
  return !p.ok();
}

Int Symbols::High(const Poly& p) const {
  if (!p.ok()) return kWidest;
  Int high = 0;
  for (const auto& [monomial, c] : p.terms()) {
    if (c < 0 && !monomial.empty()) continue;
    Int most = c;
    for (const Sym s : monomial) most = Saturated(most, symbols_[s].max, true);
    high = Saturated(high, most, false);
  }
  return high;
}

Int Symbols::Low(const Poly& p) const {
  if (!p.ok()) return -kWidest;
  return -High(Poly(0) - p);
}

std::string Symbols::Text(const Poly& p) const {
  if (!p.ok()) return "?";
  std::string text;
  for (const auto& [monomial, c] : p.terms()) {
    if (!text.empty())
      text += c < 0 ? " - " : " + ";
    else if (c < 0)
      text += "-";
    const Int size = c < 0 ? -c : c;
    const bool number = monomial.empty() || size != 1;
    if (number) text += Decimal(size);
    for (size_t i = 0; i < monomial.size(); ++i) text += (i > 0 || number ? " " : "") + symbols_[monomial[i]].name;
  }
  return text.empty() ? "0" : text;
}

}  // namespace quern::kernels::ir::verify
