// V8: no two threads, of one tile or of two, touch the same byte of a buffer that is written. Each store is compared
// with itself, with the other stores to the buffer, and with the loads from it.
#include <algorithm>

#include "kernels/ir/verify/digits.h"

namespace quern::kernels::ir::verify {
namespace {

class Exclusive {
 public:
  Exclusive(const Algebra& algebra, const ThreadSymbols& threads)
      : algebra_(algebra), threads_(threads), prover_(algebra, threads) {}

  bool Itself(const GlobalAccess& a) const { return SamePlace(a, a); }

  bool Pair(const GlobalAccess& a, GlobalAccess b) const {
    RenameSteps(a, b);
    return SamePlace(a, b) || SamePlace(b, a) || Interleaved(a, b) || Interleaved(b, a) || Apart(a, b);
  }

 private:
  const Symbols& symbols() const { return algebra_.symbols(); }

  static Facts Common(const Facts& a, const Facts& b) {
    Facts common;
    for (const Poly& fact : a)
      if (std::find(b.begin(), b.end(), fact) != b.end()) common.push_back(fact);
    return common;
  }

  // The same offset but for a constant distance: a thread's own bytes, apart from all others'.
  bool SamePlace(const GlobalAccess& a, const GlobalAccess& b) const {
    const Poly distance = b.offset - a.offset;
    if (!distance.IsConstant() || distance.constant() < 0) return false;
    const auto digits = DigitsOf(symbols(), a.offset);
    if (!digits) return false;
    const Facts facts = Common(a.facts, b.facts);
    if (!prover_.Distinct(digits->strides, std::max(a.size, distance.constant() + b.size), facts)) return false;
    std::set<Sym> known;
    for (const auto& [s, stride] : digits->strides) known.insert(s);
    return prover_.TellThread(known, facts);
  }

  // The same offset but for a distance that is a digit of its own, such as the next row: no byte in common at all.
  bool Interleaved(const GlobalAccess& a, const GlobalAccess& b) const {
    const Poly distance = b.offset - a.offset;
    const auto digits = DigitsOf(symbols(), a.offset);
    if (!digits || !symbols().OverParams(distance)) return false;
    std::map<Sym, Poly> strides = digits->strides;
    strides[threads_.which] = distance;
    // Guards of the two that differ like the offsets do are one guard, with the digit in it.
    Facts facts = Common(a.facts, b.facts);
    for (const Poly& fa : a.facts)
      for (const Poly& fb : b.facts)
        if (!(fa == fb) && symbols().OverParams(fb - fa)) facts.push_back(fa + (fb - fa) * Poly::Of(threads_.which));
    return prover_.Distinct(strides, std::max(a.size, b.size), facts);
  }

  // The steps of two loops that run alike are one digit: the two points that are compared are independent anyway.
  void RenameSteps(const GlobalAccess& a, GlobalAccess& b) const {
    const auto in_a = DigitsOf(symbols(), a.offset), in_b = DigitsOf(symbols(), b.offset);
    if (!in_a || !in_b) return;
    std::set<Sym> taken;
    for (const auto& [sb, stride_b] : in_b->strides) {
      if (symbols()[sb].kind != Symbol::Kind::kStep || in_a->strides.contains(sb)) continue;
      for (const auto& [sa, stride_a] : in_a->strides) {
        const bool alike = symbols()[sa].kind == Symbol::Kind::kStep && symbols()[sa].max == symbols()[sb].max;
        if (!alike || !(stride_a == stride_b) || in_b->strides.contains(sa) || !taken.insert(sa).second) continue;
        b.offset = b.offset.Substitute(sb, Poly::Of(sa));
        for (Poly& fact : b.facts) fact = fact.Substitute(sb, Poly::Of(sa));
        break;
      }
    }
  }

  // Two ranges without a common byte, or with one only for equal threads: equal leading digits are taken off one by
  // one, then either the thread is known or the remainders are apart.
  bool Apart(const GlobalAccess& a, const GlobalAccess& b) const {
    auto da = DigitsOf(symbols(), a.offset), db = DigitsOf(symbols(), b.offset);
    if (!da || !db) return false;
    const Facts common = Common(a.facts, b.facts);
    std::set<Sym> known;
    for (;;) {
      if (Below(*da, a.size, a.facts, *db, b.facts) || Below(*db, b.size, b.facts, *da, a.facts)) return true;
      if (!known.empty() && prover_.TellThread(known, common)) return true;
      const auto leading = Leading(*da, a, *db, b);
      if (!leading) return false;
      known.insert(*leading);
      da->strides.erase(*leading);
      db->strides.erase(*leading);
    }
  }

  static Poly ValueOf(const Digits& d) {
    Poly value = d.base;
    for (const auto& [s, stride] : d.strides) value = value + stride * Poly::Of(s);
    return value;
  }

  // All of `low` ends before any of `high` begins.
  bool Below(const Digits& low, Int size, const Facts& low_facts, const Digits& high, const Facts& high_facts) const {
    for (const auto& [s, stride] : high.strides)
      if (!algebra_.NotNegative(stride, high_facts)) return false;
    return algebra_.NotNegative(high.base - Poly(size) - ValueOf(low), low_facts);
  }

  // A digit of both with one stride, which all that is left of both stays below.
  std::optional<Sym> Leading(const Digits& da, const GlobalAccess& a, const Digits& db, const GlobalAccess& b) const {
    for (const auto& [s, stride] : da.strides) {
      const auto other = db.strides.find(s);
      if (other == db.strides.end() || !(other->second == stride)) continue;
      const auto fits = [&](const Digits& d, const GlobalAccess& access) {
        const Poly rest = ValueOf(d) - stride * Poly::Of(s);
        return algebra_.NotNegative(rest, access.facts) &&
               algebra_.NotNegative(stride - rest - Poly(access.size), access.facts);
      };
      if (fits(da, a) && fits(db, b)) return s;
    }
    return std::nullopt;
  }

  const Algebra& algebra_;
  const ThreadSymbols& threads_;
  const DigitProver prover_;
};

}  // namespace

void CheckExclusive(const Kernel& kernel, const Algebra& algebra, const ThreadSymbols& threads,
                    const std::vector<GlobalAccess>& accesses, Report& report) {
  const Exclusive exclusive(algebra, threads);
  for (size_t i = 0; i < accesses.size(); ++i) {
    const GlobalAccess& a = accesses[i];
    if (!a.store) continue;
    const std::string place = "offset " + algebra.symbols().Text(a.offset);
    if (!exclusive.Itself(a)) {
      report.Add(Rule::kV8, *a.stmt, "not shown that other threads write other bytes: " + place);
      continue;
    }
    for (size_t j = 0; j < accesses.size(); ++j) {
      const GlobalAccess& b = accesses[j];
      if (b.buffer != a.buffer || (b.store && j <= i) || exclusive.Pair(a, b)) continue;
      report.Add(
          Rule::kV8, *a.stmt,
          "not shown that other threads stay clear of these bytes in \"" + DumpHead(kernel, *b.stmt) + "\": " + place);
    }
  }
}

}  // namespace quern::kernels::ir::verify
