// V4, V5 and V7, with V9 in the evaluator: an abstract run of the kernel. Registers hold polynomials; conditions add
// facts to the statements under them; a loop's variable is begin + step * (a new symbol). What a loop changes is
// widened to constant bounds.
#include "kernels/ir/verify/accesses.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kernels/ir/verify/divide.h"
#include "kernels/ir/verify/passes.h"
#include "kernels/ir/verify/visit.h"

namespace quern::kernels::ir::verify {
namespace {

constexpr int kWidenings = 4;  // runs of a loop's body before its registers are unknown

class Walk {
 public:
  Walk(const Kernel& kernel, Report& report) : kernel_(kernel), report_(report), eval_(kernel, algebra_, report) {}

  void Run() {
    eval_.At(nullptr, false);
    num_tiles_ = eval_.Integer(kernel_.num_tiles);
    if (symbols().Wrapped(num_tiles_)) report_.AddHead(Rule::kV7, "tiles", "the number of tiles may wrap");
    for (const Buffer& b : kernel_.buffers) {
      sizes_.push_back(eval_.Integer(b.min_bytes));
      if (symbols().Wrapped(sizes_.back())) report_.AddHead(Rule::kV7, "buffer " + b.name, "the size may wrap");
    }
    eval_.SetTiles(num_tiles_);
    Run(kernel_.body);
    Symbol which;
    which.name = "which";
    which.max = 1;
    const Sym either = algebra_.symbols().Add(std::move(which));
    const ThreadSymbols threads{eval_.tile(),          eval_.warp(),       eval_.lane(),
                                num_tiles_ == Poly(1), kernel_.warps <= 1, either};
    CheckExclusive(kernel_, algebra_, threads, accesses_, report_);
  }

 private:
  const Symbols& symbols() const { return algebra_.symbols(); }
  Facts& facts() { return algebra_.facts(); }
  void Add(Rule rule, const Stmt& stmt, std::string message) {
    if (silent_ == 0) report_.Add(rule, stmt, std::move(message));
  }

  void Run(const Block& block) {
    for (const Stmt& stmt : block) {
      eval_.At(&stmt, silent_ > 0);
      std::visit([&](const auto& s) { Run(stmt, s); }, stmt.node);
    }
  }

  // ---- Registers.
  void Forget(RegId reg) {
    eval_.state().integers.erase(reg);
    eval_.state().conditions.erase(reg);
  }
  void SetUnknown(RegId reg) {
    Forget(reg);
    const Register& r = kernel_.registers[reg];
    if (IsIntegerType(r.type)) eval_.state().integers[reg] = algebra_.Unknown("%" + r.name, r.type);
  }
  void Run(const Stmt&, const SetStmt& s) {
    const Type type = kernel_.registers[s.dst].type;
    if (type == kPred) {
      eval_.state().conditions[s.dst] = eval_.Pred(s.value);
    } else if (IsIntegerType(type)) {
      eval_.state().integers[s.dst] = eval_.Integer(s.value);
    } else {
      eval_.Touch(s.value);
    }
  }

  // ---- Control.
  void Guard(const Stmt& stmt, const Condition& c) {
    if (c.wrapped) Add(Rule::kV7, stmt, "a value in the condition may have wrapped");
  }

  void Run(const Stmt& stmt, const IfStmt& s) {
    const Condition c = eval_.Pred(s.condition);
    Guard(stmt, c);
    const State before = eval_.state();
    const size_t outer = facts().size();
    facts().insert(facts().end(), c.when_true.begin(), c.when_true.end());
    Run(s.then_body);
    facts().resize(outer);
    const State after_then = std::exchange(eval_.state(), before);
    facts().insert(facts().end(), c.when_false.begin(), c.when_false.end());
    Run(s.else_body);
    facts().resize(outer);
    Join(after_then, c);
  }

  // The state after the else branch becomes that of both.
  void Join(const State& then_state, const Condition& c) {
    State& state = eval_.state();
    std::erase_if(state.conditions, [&](const auto& entry) {
      const auto other = then_state.conditions.find(entry.first);
      return other == then_state.conditions.end() || other->second.when_true != entry.second.when_true ||
             other->second.when_false != entry.second.when_false;
    });
    std::erase_if(state.integers, [&](const auto& entry) { return !then_state.integers.contains(entry.first); });
    for (auto& [reg, value] : state.integers) {
      const Poly& other = then_state.integers.at(reg);
      if (other == value) continue;
      value = algebra_.Choose({{other, c.when_true}, {value, c.when_false}}, kernel_.registers[reg].type);
      // Which of the two it is hangs on a comparison that means nothing.
      if (c.wrapped) value = algebra_.Unknown("%" + kernel_.registers[reg].name, kernel_.registers[reg].type, true);
    }
  }

  struct Range {
    Int low, high;
    bool wrapped;
  };
  Range RangeOf(const Poly& p) const { return {symbols().Low(p), symbols().High(p), symbols().Wrapped(p)}; }
  void Assume(const std::map<RegId, Range>& ranges) {
    for (const auto& [reg, r] : ranges)
      eval_.state().integers[reg] =
          algebra_.UnknownBetween("%" + kernel_.registers[reg].name, r.low, r.high, r.wrapped);
  }

  // The least constant from `least` on among the expressions that set the register in the body; else `least`.
  Int NextConstant(const Block& body, RegId reg, Int least) const {
    Int next = kMaxU64;
    ForEachStmt(body, [&](const Stmt& stmt) {
      const auto* set = std::get_if<SetStmt>(&stmt.node);
      if (set == nullptr || set->dst != reg) return;
      for (const ExprId id : NodesOf(kernel_, set->value)) {
        const Expr& e = kernel_.expr(id);
        if (e.op == Op::kConst && IsIntegerType(e.type) && Int{e.value} >= least) next = std::min(next, Int{e.value});
      }
    });
    return next == kMaxU64 ? least : next;
  }

  void Run(const Stmt& stmt, const ForStmt& s) {
    const Poly begin = eval_.Integer(s.begin), end = eval_.Integer(s.end);
    if (symbols().Wrapped(begin) || symbols().Wrapped(end))
      Add(Rule::kV7, stmt, "a bound of the loop may have wrapped");
    else if (s.step > 1 && !algebra_.AtMost(end - Poly(1) + Poly(Int{s.step}), HighestOf(kU32)))
      Add(Rule::kV7, stmt, "the loop's variable may wrap");
    std::map<RegId, Range> changed;
    ForEachStmt(s.body, [&](const Stmt& inner) {
      const auto reg = WrittenBy(inner);
      if (!reg) return;
      eval_.state().conditions.erase(*reg);
      const auto known = eval_.state().integers.find(*reg);
      if (known != eval_.state().integers.end()) changed[*reg] = RangeOf(known->second);
    });
    const State before = eval_.state();
    for (int i = 0; !changed.empty(); ++i) {
      ++silent_;
      Assume(changed);
      RunBody(stmt, s, begin, end);
      --silent_;
      bool stable = true;
      for (auto& [reg, r] : changed) {
        const auto after = eval_.state().integers.find(reg);
        const Type type = kernel_.registers[reg].type;
        const bool known = after != eval_.state().integers.end();
        const Range got = known ? RangeOf(after->second) : Range{LowestOf(type), HighestOf(type), false};
        if (got.wrapped <= r.wrapped && known && algebra_.AtMost(after->second, r.high) &&
            algebra_.NotNegative(after->second - r.low))
          continue;
        stable = false;
        // A bound that is computed with a constant, such as slot == 3 ? 0 : slot + 1, is most often that constant.
        const Int high = i >= kWidenings ? HighestOf(type) : NextConstant(s.body, reg, std::max(r.high, got.high));
        r = {i >= kWidenings ? LowestOf(type) : std::min(r.low, got.low), high, r.wrapped || got.wrapped};
        r.low = std::max(r.low, LowestOf(type));
        r.high = std::min(r.high, HighestOf(type));
      }
      eval_.state() = before;
      if (stable) break;
    }
    Assume(changed);
    RunBody(stmt, s, begin, end);
    // After the loop they have other values than within it: new symbols.
    Assume(changed);
  }

  void RunBody(const Stmt& stmt, const ForStmt& s, const Poly& begin, const Poly& end) {
    Symbol steps;
    steps.kind = Symbol::Kind::kStep;
    steps.name = kernel_.registers[s.var].name + (s.step == 1 ? "'" : "'/" + std::to_string(s.step));
    steps.max = std::max<Int>(std::min(symbols().High(end), HighestOf(kU32)) - 1, 0) / s.step;
    const Poly var = begin + Poly::Of(algebra_.symbols().Add(std::move(steps))) * Poly(Int{s.step});
    eval_.state().integers[s.var] = var;
    const size_t outer = facts().size();
    facts().push_back(end - Poly(1) - var);
    Run(s.body);
    facts().resize(outer);
    Forget(s.var);
    eval_.At(&stmt, silent_ > 0);
  }

  // ---- Memory.
  template <typename F>
  void Under(const Stmt& stmt, ExprId predicate, const F& f) {
    const size_t outer = facts().size();
    if (predicate != kNoExpr) {
      const Condition c = eval_.Pred(predicate);
      Guard(stmt, c);
      facts().insert(facts().end(), c.when_true.begin(), c.when_true.end());
    }
    f();
    facts().resize(outer);
  }

  Poly Access(const Stmt& stmt, ExprId offset_id, Int size, const Poly& bytes, Int align) {
    const Poly offset = eval_.Integer(offset_id);
    if (symbols().Wrapped(offset)) {
      Add(Rule::kV7, stmt, "the offset may have wrapped: " + symbols().Text(offset));
      return offset;
    }
    if (silent_ > 0) return offset;
    if (!symbols().Wrapped(bytes) && !algebra_.NotNegative(bytes - offset - Poly(size)))
      Add(Rule::kV4, stmt,
          fmt::format("not shown to be within the {} bytes: {} at offset {}", symbols().Text(bytes),
                      static_cast<int>(size), symbols().Text(offset)));
    if (align % size != 0 || !Aligned(offset, size))
      Add(Rule::kV5, stmt,
          fmt::format("not shown to be aligned to {}: offset {}", static_cast<int>(size), symbols().Text(offset)));
    return offset;
  }

  bool Aligned(Poly offset, Int size) {
    if (offset.Content() % size == 0) return true;
    // Guards may make symbols zero: lane == 0, x % 16 == 0.
    for (const Poly& fact : facts())
      if (fact.terms().size() == 1 && fact.terms().begin()->first.size() == 1 && fact.terms().begin()->second < 0)
        offset = offset.Substitute(fact.terms().begin()->first[0], 0);
    return offset.Content() % size == 0;
  }

  void Global(const Stmt& stmt, uint32_t buffer, ExprId offset, ExprId predicate, Int size, bool store) {
    Under(stmt, predicate, [&] {
      const Buffer& b = kernel_.buffers[buffer];
      const Poly at = Access(stmt, offset, size, sizes_[buffer], b.align);
      if (silent_ == 0 && b.access != Access::kRead && !symbols().Wrapped(at))
        accesses_.push_back({&stmt, buffer, store, at, size, facts()});
    });
  }
  void Shared(const Stmt& stmt, uint32_t array, ExprId offset, ExprId predicate, Int size) {
    Under(stmt, predicate, [&] { Access(stmt, offset, size, Int{kernel_.shared[array].bytes}, 16); });
  }

  void Run(const Stmt& stmt, const LoadGlobalStmt& s) {
    Global(stmt, s.buffer, s.offset, s.predicate, BytesOf(kernel_.registers[s.dst].type), false);
    SetUnknown(s.dst);
  }
  void Run(const Stmt& stmt, const StoreGlobalStmt& s) {
    eval_.Touch(s.value);
    Global(stmt, s.buffer, s.offset, s.predicate, BytesOf(kernel_.expr(s.value).type), true);
  }
  void Run(const Stmt& stmt, const LoadSharedStmt& s) {
    Shared(stmt, s.array, s.offset, kNoExpr, BytesOf(kernel_.registers[s.dst].type));
    SetUnknown(s.dst);
  }
  void Run(const Stmt& stmt, const StoreSharedStmt& s) {
    eval_.Touch(s.value);
    Shared(stmt, s.array, s.offset, s.predicate, BytesOf(kernel_.expr(s.value).type));
  }
  void Run(const Stmt& stmt, const AsyncCopyStmt& s) {
    Shared(stmt, s.array, s.shared_offset, kNoExpr, 16);  // zeros are written where the predicate is false
    Global(stmt, s.buffer, s.global_offset, s.predicate, 16, false);
  }

  // ---- Warps. Another lane's value has the bounds of this lane's, and no more is known.
  void Shuffled(RegId dst, ExprId value) {
    if (!IsIntegerType(kernel_.registers[dst].type)) {
      eval_.Touch(value);
      return;
    }
    const Range r = RangeOf(eval_.Integer(value));
    const Type type = kernel_.registers[dst].type;
    eval_.state().integers[dst] =
        algebra_.UnknownBetween("%" + kernel_.registers[dst].name, std::max(r.low, LowestOf(type)),
                                std::min(r.high, HighestOf(type)), r.wrapped);
  }
  void Run(const Stmt&, const ShuffleXorStmt& s) { Shuffled(s.dst, s.value); }
  void Run(const Stmt& stmt, const ShuffleIndexStmt& s) {
    const Poly source = eval_.Integer(s.source);
    if (symbols().Wrapped(source))
      Add(Rule::kV7, stmt, "the source lane may have wrapped");
    else if (!algebra_.AtMost(source, Int{kWarpThreads} - 1))
      Add(Rule::kV4, stmt, "the source lane is not shown to be below 32");
    Shuffled(s.dst, s.value);
  }
  void Run(const Stmt&, const MmaStmt& s) {
    for (const ExprId id : {s.a, s.b, s.c}) eval_.Touch(id);
  }
  template <typename S>
  void Run(const Stmt&, const S&) {}

  const Kernel& kernel_;
  Report& report_;
  Algebra algebra_;
  Evaluator eval_;
  Poly num_tiles_;
  std::vector<Poly> sizes_;
  std::vector<GlobalAccess> accesses_;
  int silent_ = 0;
};

}  // namespace

void CheckAccesses(const Kernel& kernel, Report& report) { Walk(kernel, report).Run(); }

}  // namespace quern::kernels::ir::verify
