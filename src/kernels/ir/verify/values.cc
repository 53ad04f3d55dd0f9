// V4, V5, V7 and V9: one walk through the statements with abstract values. Registers that a loop changes get a range by
// repetition: what they are before the loop, and after turns that begin in the range found so far.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "kernels/ir/verify/accesses.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {
namespace {

constexpr int kTurns = 12;  // of a loop, until ranges are given up

bool IsNumber(Type t) { return t == kU8 || t == kU16 || t == kU32 || t == kU64; }

class Walker {
 public:
  explicit Walker(const Kernel& kernel) : k_(kernel), eval_(kernel, early_) {}

  void Run(Violations& out) {
    for (const Buffer& b : k_.buffers) {
      eval_.where = "buffer " + b.name;
      sizes_.push_back(Checked(b.min_bytes, "the declared size"));
    }
    eval_.where = "number of tiles";
    const Poly tiles = Checked(k_.num_tiles, "it");
    // Of tiles that wrap nothing is known.
    if (!early_.empty()) return Append(out, early_);
    Symbol& tile = eval_.symbols.at(eval_.tile);
    tile.facts.push_back(tiles - Poly(1) - Poly::Of(eval_.tile));
    tile.hi = std::clamp<Int>(eval_.symbols.High(tiles) - 1, 0, MaxOf(kU32));
    Walk(k_.body);
    // Bounds that rest on wrapped values mean nothing, nor does exclusiveness out of bounds.
    if (!early_.empty()) return Append(out, early_);
    Append(out, late_);
    if (late_.empty()) CheckExclusive(eval_, accesses_, out);
  }

 private:
  static void Append(Violations& to, const Violations& from) { to.insert(to.end(), from.begin(), from.end()); }
  void Report(Violations& list, Rule rule, std::string message) {
    if (eval_.report) list.push_back({rule, eval_.where, std::move(message)});
  }
  void NotWrapped(const Abstract& value, std::string_view what) {
    if (value.wrapped == kNoExpr) return;
    const Expr& e = k_.expr(value.wrapped);
    Report(early_, Rule::kOverflow,
           fmt::format("{} comes from {}.{} that may wrap{}", what, NameOf(e.op), NameOf(e.type.scalar),
                       value.number ? ": " + eval_.symbols.Text(*value.number) : ""));
  }
  Poly Checked(ExprId id, std::string_view what) {
    const Abstract value = eval_.Eval(id);
    NotWrapped(value, what);
    return eval_.Number(value, k_.expr(id).type);
  }
  Abstract Guard(ExprId id) {
    Abstract value = id == kNoExpr ? Abstract{} : eval_.Eval(id);
    NotWrapped(value, "a guard");
    return value;
  }
  Facts True(const Abstract& a) const { return a.condition ? a.condition->if_true : Facts{}; }
  Facts False(const Abstract& a) const { return a.condition ? a.condition->if_false : Facts{}; }

  void Walk(const Block& block) {
    for (const Stmt& stmt : block) {
      eval_.where = Describe(k_, stmt);
      std::visit([this](const auto& s) { Do(s); }, stmt.node);
    }
  }

  void Set(RegId dst, Abstract value) { eval_.registers[dst] = std::move(value); }
  void SetAny(RegId dst) {
    const Type type = k_.registers[dst].type;
    Set(dst, IsNumber(type) ? eval_.Opaque(k_.registers[dst].name, MaxOf(type)) : Abstract{});
  }

  void Do(const SetStmt& s) { Set(s.dst, eval_.Eval(s.value)); }

  void Do(const IfStmt& s) {
    const Abstract condition = Guard(s.condition);
    const size_t mark = eval_.known.size();
    const std::vector<Abstract> before = eval_.registers;
    eval_.Assume(True(condition));
    Walk(s.then_body);
    eval_.known.resize(mark);
    std::vector<Abstract> then = std::exchange(eval_.registers, before);
    eval_.Assume(False(condition));
    Walk(s.else_body);
    eval_.known.resize(mark);
    const Condition known = condition.condition ? *condition.condition : Condition{};
    const auto merge = [&](const Stmt& stmt) {
      const RegId dst = Written(stmt);
      if (dst == kNoReg) return;
      Abstract &a = then[dst], &b = eval_.registers[dst];
      if (!IsNumber(k_.registers[dst].type) || !a.number || !b.number) {
        // Set in one branch alone: nobody reads it afterwards (V2).
        const ExprId wrapped = a.wrapped != kNoExpr ? a.wrapped : b.wrapped;
        SetAny(dst);
        eval_.registers[dst].wrapped = wrapped;
      } else if (!(*a.number == *b.number)) {
        b = eval_.Choose(known, a, b, k_.registers[dst].type);
        a = b;
      } else if (b.wrapped == kNoExpr) {
        b.wrapped = a.wrapped;
      }
    };
    ForEachStmt(s.then_body, merge);
    ForEachStmt(s.else_body, merge);
  }

  void Do(const ForStmt& s) {
    const std::string where = eval_.where;
    const Abstract begin_value = eval_.Eval(s.begin), end_value = eval_.Eval(s.end);
    NotWrapped(begin_value, "the loop's begin");
    NotWrapped(end_value, "the loop's end");
    const Poly begin = eval_.Number(begin_value, kU32), end = eval_.Number(end_value, kU32);
    if (!eval_.Prove(Poly(MaxOf(kU32)) + Poly(1) - end - Poly(s.step)))
      Report(early_, Rule::kOverflow, "the loop's variable may wrap");

    // Numbers that live from turn to turn, with the range found so far.
    std::map<RegId, Int> highs;
    std::vector<RegId> written;
    ForEachStmt(s.body, [&](const Stmt& stmt) {
      const RegId dst = Written(stmt);
      if (dst == kNoReg) return;
      written.push_back(dst);
      const Abstract& value = eval_.registers[dst];
      if (IsNumber(k_.registers[dst].type) && value.number) highs[dst] = Range(value, dst);
    });
    std::map<RegId, ExprId> wrapped;
    for (const RegId r : written) wrapped[r] = eval_.registers[r].wrapped;

    const size_t mark = eval_.known.size();
    const bool report = eval_.report;
    bool stable =
        highs.empty() && std::all_of(wrapped.begin(), wrapped.end(), [](auto w) { return w.second == kNoExpr; });
    for (int turn = 0; !stable; ++turn) {
      eval_.report = false;
      Turn(s, begin, end, written, highs, wrapped);
      stable = true;
      for (auto& [reg, hi] : highs) {
        const Int after = Range(eval_.registers[reg], reg);
        if (after <= hi) continue;
        hi = turn < kTurns ? after : MaxOf(k_.registers[reg].type);
        stable = false;
      }
      for (auto& [reg, from] : wrapped) {
        if (from != kNoExpr || eval_.registers[reg].wrapped == kNoExpr) continue;
        from = eval_.registers[reg].wrapped;
        stable = false;
      }
      eval_.known.resize(mark);
    }
    eval_.report = report;
    Turn(s, begin, end, written, highs, wrapped);
    std::map<RegId, Int> last;
    for (const RegId r : written) {
      if (IsNumber(k_.registers[r].type)) last[r] = Range(eval_.registers[r], r);
    }
    eval_.known.resize(mark);
    for (const auto& [reg, hi] : highs) last[reg] = std::max(last[reg], hi);
    for (const RegId r : written) {
      const ExprId from = eval_.registers[r].wrapped;
      SetAny(r);
      if (last.count(r) != 0) Carry(r, last[r]);
      eval_.registers[r].wrapped = from != kNoExpr ? from : wrapped[r];
    }
    SetAny(s.var);
    eval_.where = where;
  }

  Int Range(const Abstract& value, RegId reg) {
    const Int most = MaxOf(k_.registers[reg].type);
    return value.number ? std::min(most, eval_.High(*value.number)) : most;
  }

  // A register of which a range is known.
  void Carry(RegId reg, Int hi) {
    const Abstract value = eval_.Opaque(k_.registers[reg].name, hi);
    if (const auto s = value.number->Single()) eval_.symbols.at(*s).data = hi == MaxOf(k_.registers[reg].type);
    Set(reg, value);
  }

  // One turn of a loop, from any state that the ranges allow.
  void Turn(const ForStmt& s, const Poly& begin, const Poly& end, const std::vector<RegId>& written,
            const std::map<RegId, Int>& highs, std::map<RegId, ExprId>& wrapped) {
    for (const RegId r : written) {
      SetAny(r);
      if (const auto it = highs.find(r); it != highs.end()) Carry(r, it->second);
      eval_.registers[r].wrapped = wrapped[r];
    }
    // var = begin + step * turn
    const Int turns = std::clamp<Int>((eval_.symbols.High(end, eval_.known) - 1) / s.step, 0, MaxOf(kU32));
    const Poly var = begin + Poly(s.step) * Poly::Of(eval_.symbols.Add(k_.registers[s.var].name, turns));
    eval_.Assume({{end - Poly(1) - var, false}});
    Set(s.var, {var, nullptr, kNoExpr});
    Walk(s.body);
  }

  // V4, V5 and V7 of one access, of which `holds` is the condition. False when nothing is worth to be recorded.
  Poly Access(ExprId offset_id, uint32_t bytes, const Poly& size, uint32_t align, const Facts& holds) {
    const Abstract value = eval_.Eval(offset_id);
    NotWrapped(value, "the offset");
    const Poly offset = eval_.Number(value, k_.expr(offset_id).type);
    const size_t mark = eval_.known.size();
    eval_.Assume(holds);
    if (eval_.report && !eval_.Prove(size - offset - Poly(bytes))) {
      Report(late_, Rule::kBounds,
             fmt::format("cannot prove {} bytes at {} to be within {}", bytes, eval_.symbols.Text(offset),
                         eval_.symbols.Text(size)));
    }
    if (eval_.report && !Multiple(offset, bytes, 4))
      Report(late_, Rule::kAlignment, fmt::format("{} is no multiple of {}", eval_.symbols.Text(offset), bytes));
    if (align < bytes) Report(late_, Rule::kAlignment, fmt::format("aligned to {}, accessed by {}", align, bytes));
    eval_.known.resize(mark);
    return offset;
  }
  bool Multiple(const Poly& p, uint32_t n, int depth) {
    if (p.DivisibleBy(n)) return true;
    if (depth == 0) return false;
    for (const SymbolId s : p.Symbols()) {
      const auto& alternatives = eval_.symbols.at(s).alternatives;
      if (alternatives.empty()) continue;
      return std::all_of(alternatives.begin(), alternatives.end(),
                         [&](const Alternative& a) { return Multiple(p.Substituted(s, a.value), n, depth - 1); });
    }
    return false;
  }
  void Global(uint32_t buffer, bool store, ExprId offset, uint32_t bytes, const Facts& holds) {
    GlobalAccess access{buffer, store, {}, bytes, {}, eval_.where};
    access.offset = Access(offset, bytes, sizes_[buffer], k_.buffers[buffer].align, holds);
    if (!eval_.report || k_.buffers[buffer].access == Access::kRead) return;
    const size_t mark = eval_.known.size();
    eval_.Assume(holds);
    access.known = eval_.known;
    eval_.known.resize(mark);
    accesses_.push_back(std::move(access));
  }
  uint32_t SizeOf(Type type) const { return static_cast<uint32_t>(BytesOf(type)); }
  void Shared(uint32_t array, ExprId offset, uint32_t bytes, const Facts& holds) {
    Access(offset, bytes, Poly(k_.shared[array].bytes), 16, holds);
  }

  void Do(const LoadGlobalStmt& s) {
    Global(s.buffer, false, s.offset, SizeOf(k_.registers[s.dst].type), True(Guard(s.predicate)));
    SetAny(s.dst);
  }
  void Do(const StoreGlobalStmt& s) {
    eval_.Eval(s.value);
    Global(s.buffer, true, s.offset, SizeOf(k_.expr(s.value).type), True(Guard(s.predicate)));
  }
  void Do(const LoadSharedStmt& s) {
    Shared(s.array, s.offset, SizeOf(k_.registers[s.dst].type), {});
    SetAny(s.dst);
  }
  void Do(const StoreSharedStmt& s) {
    eval_.Eval(s.value);
    Shared(s.array, s.offset, SizeOf(k_.expr(s.value).type), True(Guard(s.predicate)));
  }
  void Do(const AsyncCopyStmt& s) {
    // Where the predicate is false the shared bytes become zeros.
    Shared(s.array, s.shared_offset, 16, {});
    Global(s.buffer, false, s.global_offset, 16, True(Guard(s.predicate)));
  }
  void Do(const ShuffleXorStmt& s) {
    eval_.Eval(s.value);
    SetAny(s.dst);
  }
  void Do(const ShuffleIndexStmt& s) {
    eval_.Eval(s.value);
    const Abstract source = eval_.Eval(s.source);
    NotWrapped(source, "the source lane");
    if (eval_.report && !eval_.Prove(Poly(kWarpThreads - 1) - eval_.Number(source, kU32)))
      Report(late_, Rule::kBounds, "the source lane may be 32 or more");
    SetAny(s.dst);
  }
  void Do(const MmaStmt& s) {
    for (const ExprId id : {s.a, s.b, s.c}) eval_.Eval(id);
    SetAny(s.dst);
  }
  void Do(const BarrierStmt&) {}
  void Do(const WarpSyncStmt&) {}
  void Do(const AsyncCommitStmt&) {}
  void Do(const AsyncWaitStmt&) {}
  void Do(const CommentStmt&) {}

  const Kernel& k_;
  Violations early_, late_;
  Evaluator eval_;
  std::vector<Poly> sizes_;
  std::vector<GlobalAccess> accesses_;
};

}  // namespace

void CheckValues(const Kernel& kernel, Violations& out) { Walker(kernel).Run(out); }

}  // namespace quern::kernels::ir::verify
