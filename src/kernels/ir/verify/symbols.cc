#include "kernels/ir/verify/symbols.h"

#include <algorithm>

#include <fmt/format.h>

namespace quern::kernels::ir::verify {
namespace {

// Saturates: bounds beyond 2^126 mean nothing.
Int Times(Int a, Int b) {
  Int out;
  return __builtin_mul_overflow(a, b, &out) || out > kIntMax ? kIntMax : out;
}

}  // namespace

SymbolId Symbols::Add(std::string name, Int hi, bool uniform) {
  Symbol s;
  s.name = std::move(name);
  s.hi = hi;
  s.uniform = uniform;
  table_.push_back(std::move(s));
  return size() - 1;
}

bool Symbols::Uniform(const Poly& p) const {
  for (const auto& [m, c] : p.terms()) {
    for (const SymbolId s : m) {
      if (!at(s).uniform) return false;
    }
  }
  return true;
}

Int Symbols::HighOf(SymbolId id, const Known& known) const {
  Int hi = at(id).hi;
  for (const Poly& fact : known) {
    // c - k s - (what is not negative) >= 0
    const auto it = fact.terms().find({id});
    if (!fact.valid() || it == fact.terms().end() || it->second >= 0) continue;
    const bool bounds = std::all_of(fact.terms().begin(), fact.terms().end(),
                                    [](const auto& term) { return term.first.empty() || term.second < 0; });
    if (bounds && fact.constant_term() >= 0) hi = std::min(hi, fact.constant_term() / -it->second);
  }
  return hi;
}

Int Symbols::High(const Poly& p, const Known& known) const {
  if (!p.valid()) return kIntMax;
  Int sum = 0;
  for (const auto& [m, c] : p.terms()) {
    if (c < 0 && !m.empty()) continue;
    Int term = c;
    for (const SymbolId s : m) term = Times(term, HighOf(s, known));
    if (term >= kIntMax || sum >= kIntMax - term) return kIntMax;
    sum += term;
  }
  return sum;
}

Int Symbols::Low(const Poly& p, const Known& known) const {
  if (!p.valid()) return -kIntMax;
  Int sum = 0;
  for (const auto& [m, c] : p.terms()) {
    if (c > 0 && !m.empty()) continue;
    Int term = c < 0 ? -c : c;
    for (const SymbolId s : m) term = Times(term, HighOf(s, known));
    if (term >= kIntMax || sum <= term - kIntMax) return -kIntMax;
    sum += c < 0 ? -term : term;
  }
  return sum;
}

std::pair<Poly, Poly> Symbols::Divide(const Poly& x, const Poly& q, const Known& known) {
  // A factor of both changes the remainder alone.
  Int common = x.Content();
  for (Int a = common, b = q.Content(); b != 0;) {
    common = b;
    b = std::exchange(a, b) % b;
  }
  if (common > 1) {
    auto [div, mod] = Divide(x.DividedBy(common), q.DividedBy(common), known);
    return {div, mod * Poly(common)};
  }
  if (const auto exact = x.Quotient(q)) return {*exact, Poly()};
  // The multiples of q come out: floor((q a + r) / q) = a + floor(r / q).
  Poly whole, rest;
  if (const auto n = q.Constant()) {
    for (const auto& [m, c] : x.terms()) {
      const Int part = c >= 0 ? c / *n : -((-c + *n - 1) / *n);
      whole.Add(m, m.empty() ? part : c % *n == 0 ? c / *n : 0);
      rest.Add(m, m.empty() ? c - part * *n : c % *n == 0 ? 0 : c);
    }
    if (Low(rest, known) < 0) whole = Poly(), rest = x;
  } else {
    rest = x;
  }
  if (High(rest, known) < Low(q)) return {whole, rest};

  // A symbol for each; the quotient by a constant that divides a coefficient's sum needs no more.
  const auto [it, added] = divisions_.try_emplace({rest, q});
  if (added) {
    const bool uniform = Uniform(rest) && Uniform(q);
    const Int q_low = std::max<Int>(1, Low(q)), x_high = High(rest), q_high = High(q);
    const SymbolId d = Add(fmt::format("({} / {})", Text(rest), Text(q)), x_high / q_low, uniform);
    const SymbolId m = Add(fmt::format("({} % {})", Text(rest), Text(q)), std::min(x_high, q_high - 1), uniform);
    const Poly div = Poly::Of(d), mod = Poly::Of(m);
    const std::vector<SymbolId> parts = rest.Symbols();
    at(d).data = at(m).data = std::all_of(parts.begin(), parts.end(), [&](SymbolId s) { return at(s).data; });
    at(d).kind = Symbol::Kind::kDiv;
    at(m).kind = Symbol::Kind::kMod;
    at(d).num = at(m).num = rest;
    at(d).den = at(m).den = q;
    at(d).facts = {q * div + q - Poly(1) - rest, rest - q * div};
    at(m).facts = {q - Poly(1) - mod, rest - mod, rest - q * div - mod, q * div + mod - rest};
    it->second = {d, m};
  }
  return {whole + Poly::Of(it->second.first), Poly::Of(it->second.second)};
}

std::string Symbols::Text(const Poly& p) const {
  if (!p.valid()) return "?";
  std::string text;
  for (auto it = p.terms().rbegin(); it != p.terms().rend(); ++it) {
    const auto& [m, c] = *it;
    if (!text.empty() || c < 0) text += c < 0 ? (text.empty() ? "-" : " - ") : " + ";
    const Int magnitude = c < 0 ? -c : c;
    if (magnitude != 1 || m.empty()) text += fmt::format("{}", static_cast<uint64_t>(magnitude));
    for (size_t i = 0; i < m.size(); ++i) text += (i == 0 && magnitude == 1 ? "" : " ") + at(m[i]).name;
  }
  return text.empty() ? "0" : text;
}

}  // namespace quern::kernels::ir::verify
