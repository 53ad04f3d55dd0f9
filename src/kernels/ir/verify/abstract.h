// Abstract values: what is known of an expression for any one thread of any tile, as a polynomial over symbols.
//
// A polynomial is the exact value: where an operation may wrap, its result becomes a symbol of which nothing but the
// type's range is known, and remembers the operation (V7 asks whether an index comes from it). Reports V9.
#pragma once

#include <memory>
#include <vector>

#include "kernels/ir/verify/prover.h"
#include "kernels/ir/verify/rules.h"

namespace quern::kernels::ir::verify {

struct Condition {
  Facts if_true, if_false;
};
struct Abstract {
  std::optional<Poly> number;                  // of u8, u16, u32 and u64
  std::shared_ptr<const Condition> condition;  // of pred
  ExprId wrapped = kNoExpr;                    // the operation that may have wrapped on the way here
};

Int MaxOf(Type type);  // of an unsigned type

class Evaluator {
 public:
  Evaluator(const Kernel& kernel, Violations& out);

  Abstract Eval(ExprId id);
  // The value as a polynomial, whatever it is.
  Poly Number(const Abstract& value, Type type);
  Abstract Opaque(const std::string& name, Int hi);
  // One of two values, by a condition.
  Abstract Choose(const Condition& condition, const Abstract& a, const Abstract& b, Type type);

  bool Prove(const Poly& goal, Effort effort = Effort::kFull) {
    return Prover(symbols).NonNegative(goal, known, effort);
  }
  void Assume(const Facts& facts);
  Int High(const Poly& p);

  const Kernel& kernel;
  Symbols symbols;
  std::vector<Abstract> registers;
  Known known;         // what holds where control is
  bool report = true;  // false while a loop's invariant is sought
  std::string where;
  SymbolId tile = 0, warp = 0, lane = 0;

 private:
  Abstract Compute(const Expr& e, ExprId id);
  Abstract Arithmetic(const Expr& e, ExprId id, const Poly& a, const Poly& b);
  Abstract Bits(const Expr& e, const Poly& a, const Poly& b);
  Abstract Compare(const Expr& e, const Poly& a, const Poly& b);
  Abstract Logic(const Expr& e, const Abstract& a, const Abstract& b);
  Abstract Shift(const Expr& e, ExprId id, const Abstract& a, const Poly& amount);
  Abstract Convert(const Expr& e, ExprId id, const Abstract& a);
  bool IsData(const Poly& p) const;
  Abstract Fit(Poly p, Type type, ExprId id);
  Abstract Leaf(const Expr& e);
  Int Top(const Poly& p, Type type) const;
  void BoundQuotients(const Poly& quotient);
  bool Division(const Expr& e, const Abstract& divisor);

  Violations& out_;
  std::vector<Poly> params_;
};

}  // namespace quern::kernels::ir::verify
