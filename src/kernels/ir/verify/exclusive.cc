// V8. Two accesses of one buffer meet in a byte only if the threads are the same: by taking the offsets apart like
// numbers in a mixed radix.
//
// If both offsets are S * X + I with 0 <= I and I + bytes <= S, then a common byte needs equal X, and I that overlap.
// Both go on in the same way, with other S, until single symbols are left: equal ones. When these fix the tile, the
// warp and the lane, the threads are one. Symbols of the two threads have the same names; parameters alone have one
// value.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "kernels/ir/verify/accesses.h"

namespace quern::kernels::ir::verify {
namespace {

constexpr int kDepth = 8;

class Pair {
 public:
  Pair(const Evaluator& evaluator, const GlobalAccess& a, const GlobalAccess& b)
      : symbols_(evaluator.symbols),
        a_(a),
        b_(b),
        same_(&a == &b),
        threads_{evaluator.tile, evaluator.warp, evaluator.lane} {
    if (evaluator.kernel.warps == 1) equal_.insert(evaluator.warp);
  }

  bool SameThread() {
    if (Overlap(a_.offset, b_.offset, a_.bytes, b_.bytes, kDepth)) return true;  // they never meet
    Close();
    return Done();
  }

 private:
  bool Done() const {
    return std::all_of(threads_.begin(), threads_.end(), [&](SymbolId s) { return equal_.count(s) != 0; });
  }
  bool Prove(const Poly& goal, const GlobalAccess& side) const {
    return Prover(symbols_).NonNegative(goal, side.known);
  }
  bool ProveBoth(const Poly& a, const Poly& b) const { return Prove(a, a_) && (same_ ? true : Prove(b, b_)); }

  // From offsets that share a byte: learns equal symbols. True when they cannot.
  bool Overlap(const Poly& a, const Poly& b, uint32_t a_bytes, uint32_t b_bytes, int depth) {
    if (!a.valid() || !b.valid() || depth == 0) return false;
    if (symbols_.High(a, a_.known) + a_bytes <= symbols_.Low(b, b_.known)) return true;
    if (symbols_.High(b, b_.known) + b_bytes <= symbols_.Low(a, a_.known)) return true;
    if (symbols_.Uniform(a) && symbols_.Uniform(b)) {
      return Prove(b - a - Poly(a_bytes), a_) || Prove(a - b - Poly(b_bytes), a_);
    }
    if (a_bytes == 1 && b_bytes == 1) {
      const auto x = Digit(a), y = Digit(b);
      if (x && x == y && WithoutDigit(a) == WithoutDigit(b)) {
        equal_.insert(*x);
        return false;
      }
    }
    for (const Poly& stride : Strides(a, b, a_bytes, b_bytes)) {
      const auto [a_outer, a_inner] = Split(a, stride);
      const auto [b_outer, b_inner] = Split(b, stride);
      if (a_outer.IsZero() && b_outer.IsZero()) continue;
      // Progress: something is left inside, or the stride was more than one.
      if (stride == Poly(1)) continue;
      if (!ProveBoth(a_inner, b_inner) ||
          !ProveBoth(stride - a_inner - Poly(a_bytes), stride - b_inner - Poly(b_bytes)))
        continue;
      if (Overlap(a_outer, b_outer, 1, 1, depth - 1) || Overlap(a_inner, b_inner, a_bytes, b_bytes, depth - 1))
        return true;
    }
    return false;
  }

  // The symbol, if the polynomial is one that is no parameter, plus what depends on parameters alone.
  std::optional<SymbolId> Digit(const Poly& p) const {
    std::optional<SymbolId> digit;
    for (const auto& [m, c] : p.terms()) {
      if (std::all_of(m.begin(), m.end(), [&](SymbolId s) { return symbols_.at(s).uniform; })) continue;
      if (digit || m.size() != 1 || c != 1) return std::nullopt;
      digit = m[0];
    }
    return digit;
  }
  Poly WithoutDigit(const Poly& p) const { return p - Poly::Of(*Digit(p)); }

  // Candidates: what terms of the offsets are multiplied by, and that without its own factor.
  std::vector<Poly> Strides(const Poly& a, const Poly& b, uint32_t a_bytes, uint32_t b_bytes) const {
    std::set<Poly> out;
    for (const Poly* p : {&a, &b}) {
      std::map<Monomial, Poly> factors;
      for (const auto& [m, c] : p->terms()) {
        Monomial own, uniform;
        for (const SymbolId s : m) (symbols_.at(s).uniform ? uniform : own).push_back(s);
        if (!own.empty()) factors[own].Add(uniform, c);
      }
      for (const auto& [own, factor] : factors) {
        out.insert(factor);
        const Int content = factor.Content();
        if (content > 0) out.insert(factor.DividedBy(content) * Poly(std::max(a_bytes, b_bytes)));
      }
    }
    // The widest first: fewer symbols are left inside.
    return {out.rbegin(), out.rend()};
  }

  // p = stride * outer + inner. Each product of symbols goes to one of them as a whole.
  std::pair<Poly, Poly> Split(const Poly& p, const Poly& stride) const {
    std::map<Monomial, Poly> factors;
    for (const auto& [m, c] : p.terms()) {
      Monomial own, uniform;
      for (const SymbolId s : m) (symbols_.at(s).uniform ? uniform : own).push_back(s);
      factors[own].Add(uniform, c);
    }
    Poly outer, inner;
    for (const auto& [own, factor] : factors) {
      Poly product;
      product.Add(own, 1);
      const auto quotient = factor.Quotient(stride);
      if (quotient) {
        outer += *quotient * product;
      } else if (own.empty()) {
        auto [whole, rest] = factor.Divided(stride);
        if (const auto n = stride.Constant()) {
          const Poly more(rest.constant_term() / *n);
          whole += more;
          rest = rest - more * stride;
        }
        outer += whole;
        inner += rest;
      } else {
        inner += factor * product;
      }
    }
    return {outer, inner};
  }

  // Equal parts make equal wholes: quotient and remainder, and what a guard leaves one value for.
  void Close() {
    for (const SymbolId s : threads_) Fixed(s);
    for (SymbolId s = 0; s < symbols_.size(); ++s) {
      if (symbols_.at(s).kind != Symbol::Kind::kFree && Concerns(s)) Fixed(s);
    }
    for (size_t before = 0; before != equal_.size() && !Done();) {
      before = equal_.size();
      for (SymbolId d = 0; d + 1 < symbols_.size(); ++d) {
        // Both of a division are made together, the quotient first.
        if (symbols_.at(d).kind != Symbol::Kind::kDiv || !symbols_.Uniform(symbols_.at(d).den)) continue;
        const Poly& num = symbols_.at(d).num;
        if (equal_.count(d) != 0 && equal_.count(d + 1) != 0) Overlap(num, num, 1, 1, kDepth);
      }
    }
  }
  bool Concerns(SymbolId s) const {
    return std::any_of(threads_.begin(), threads_.end(), [&](SymbolId t) { return symbols_.at(s).num.Has(t); });
  }
  void Fixed(SymbolId s) {
    if (equal_.count(s) != 0) return;
    const Poly symbol = Poly::Of(s);
    const Int hi = symbols_.High(symbol, a_.known);
    if (hi != symbols_.High(symbol, b_.known)) return;
    if (ProveBoth(symbol - Poly(hi), symbol - Poly(hi))) equal_.insert(s);
  }

  const Symbols& symbols_;
  const GlobalAccess &a_, &b_;
  const bool same_;
  const std::vector<SymbolId> threads_;
  std::set<SymbolId> equal_;  // known to be equal for both threads
};

}  // namespace

void CheckExclusive(const Evaluator& evaluator, const std::vector<GlobalAccess>& accesses, Violations& out) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t j = i; j < accesses.size(); ++j) {
      const GlobalAccess &a = accesses[i], &b = accesses[j];
      if (a.buffer != b.buffer || (!a.store && !b.store)) continue;
      if (Pair(evaluator, a, b).SameThread()) continue;
      out.push_back({Rule::kExclusive, a.where,
                     fmt::format("cannot prove that {} (at {}) is of the same thread when it meets this (at {})",
                                 b.where, evaluator.symbols.Text(b.offset), evaluator.symbols.Text(a.offset))});
    }
  }
}

}  // namespace quern::kernels::ir::verify
