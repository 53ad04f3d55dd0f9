// Evaluator: the polynomial of an integer expression and the facts of a condition, given what registers hold. Reports
// V9. The value is exact: where an operation may wrap, the result is an unknown that counts as wrapped. Owned by one
// CheckAccesses call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/ir/verify/algebra.h"
#include "kernels/ir/verify/report.h"

namespace quern::kernels::ir::verify {

// What a pred tells. Empty lists tell nothing.
struct Condition {
  Facts when_true, when_false;
  bool wrapped = false;  // compares a value that may have wrapped
};

// What is known of registers at one point. A register without an entry is unknown.
struct State {
  std::map<RegId, Poly> integers;
  std::map<RegId, Condition> conditions;
};

bool IsIntegerType(Type type);  // a scalar integer: has a polynomial

class Evaluator {
 public:
  Evaluator(const Kernel& kernel, Algebra& algebra, Report& report);

  // The statement whose expressions come next; null for the kernel's head.
  void At(const Stmt* stmt, bool silent);

  Poly Integer(ExprId id);
  Condition Pred(ExprId id);
  // An expression of any type, for its divisions and shifts.
  void Touch(ExprId id);

  // The symbol of the tile exists once the number of tiles is known.
  void SetTiles(const Poly& num_tiles);
  State& state() { return state_; }
  Sym tile() const { return tile_; }
  Sym warp() const { return warp_; }
  Sym lane() const { return lane_; }

 private:
  Poly Compute(const Expr& e);
  Poly Divide(const Expr& e, const Poly& a, const Poly& b);
  Poly Shift(const Expr& e, const Poly& a, const Poly& amount);
  Poly Convert(const Expr& e);
  Poly SelectOne(const Expr& e);
  Condition Compare(const Expr& e);
  void Fault(std::string message);

  const Kernel& kernel_;
  Algebra& algebra_;
  Report& report_;
  State state_;
  std::vector<Poly> params_;
  Sym tile_ = 0, warp_ = 0, lane_ = 0;
  const Stmt* stmt_ = nullptr;
  bool silent_ = false;
  // Those of the statement, without predicates and the arms of selects: V9 holds for every thread that computes.
  Facts outer_facts_;
};

}  // namespace quern::kernels::ir::verify
