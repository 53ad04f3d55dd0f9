// Builder: how generators write kernels. Values carry operators, so that a generator reads like the kernel it makes:
//
//   Builder b({.warps = 4});
//   const Value rows = b.U32Param("rows", 1, 1 << 20);
//   const uint32_t x = b.AddBuffer("x", Access::kRead, b.Wide(rows) * 4);
//   const Value row = b.Let("row", b.Tile() * 128 + b.Thread());
//   b.If(row < rows, Uniform::kThread, [&] { ... });
//   Kernel kernel = std::move(b).Finish(b.DivideUp(rows, 128));
//
// A misuse (mixed types, a wrong register) is a fault of the generator and aborts; nothing a user gives reaches it.
// One thread builds one kernel.
#pragma once

#include <bit>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

class Builder;

// An expression of the kernel under construction. Operators take two values of one type, or a value and a number, which
// gets the value's type.
struct Value {
  Builder* builder = nullptr;
  ExprId id = kNoExpr;

  Type type() const;
};

// A register; reads as a value.
struct Reg {
  Builder* builder = nullptr;
  RegId id = 0;

  Value value() const;
  operator Value() const { return value(); }  // NOLINT: a register is used as its value
};

struct LoopOptions {
  uint32_t step = 1;
  uint32_t unroll = 0;
  Uniform uniform = Uniform::kBlock;
};

class Builder {
 public:
  struct Options {
    uint32_t warps = 1;
    uint32_t min_blocks = 0;
  };
  explicit Builder(Options options);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // ---- Parts of the kernel.
  uint32_t AddBuffer(std::string name, Access access, Value min_bytes, uint32_t align = 16);
  Value U32Param(std::string name, uint32_t min, uint32_t max, uint32_t multiple_of = 1);
  Value F32Param(std::string name);
  uint32_t AddShared(std::string name, uint32_t bytes);

  // ---- Leaves.
  Value Const(Type type, uint64_t bits);
  Value U32(uint32_t v) { return Const(kU32, v); }
  Value U64(uint64_t v) { return Const(kU64, v); }
  Value I32(int32_t v) { return Const(kI32, static_cast<uint32_t>(v)); }
  Value F32(float v) { return Const(kF32, std::bit_cast<uint32_t>(v)); }
  Value Pred(bool v) { return Const(kPred, v ? 1 : 0); }
  Value Thread() { return Leaf(Op::kThread); }
  Value Lane() { return Leaf(Op::kLane); }
  Value Warp() { return Leaf(Op::kWarp); }
  Value Tile() { return Leaf(Op::kTile); }

  // ---- Operations without an operator.
  Value Fma(Value a, Value b, Value c) { return Make(Op::kFma, kF32, {a, b, c}); }
  Value Sqrt(Value a) { return Make(Op::kSqrt, kF32, {a}); }
  Value Round(Value a) { return Make(Op::kRound, kF32, {a}); }
  Value Min(Value a, Value b) { return Make(Op::kMin, a.type(), {a, b}); }
  Value Max(Value a, Value b) { return Make(Op::kMax, a.type(), {a, b}); }
  Value MulHigh(Value a, Value b) { return Make(Op::kMulHigh, kU32, {a, b}); }
  Value Select(Value condition, Value a, Value b) { return Make(Op::kSelect, a.type(), {condition, a, b}); }
  Value Cast(Type type, Value a);  // the value itself when it has the type already
  Value Bitcast(Type type, Value a);
  Value Wide(Value a) { return Cast(kU64, a); }
  Value DotUS(Value a, Value b, Value c) { return Make(Op::kDp4aUS, kI32, {a, b, c}); }
  Value DotSS(Value a, Value b, Value c) { return Make(Op::kDp4aSS, kI32, {a, b, c}); }
  Value BytePerm(Value a, Value b, Value selector) { return Make(Op::kBytePerm, kU32, {a, b, selector}); }
  Value Extract(Value vector, uint32_t element);
  Value Vector(const std::vector<Value>& elements);
  Value DivideUp(Value a, uint32_t by);  // (a + by - 1) / by

  // ---- Statements.
  Reg Declare(std::string_view name, Type type);  // unset until the first Set
  void Set(Reg dst, Value value);
  Value Let(std::string_view name, Value value);  // a register that is set once, here
  template <std::invocable<Value> Body>
  void For(std::string_view name, Value begin, Value end, LoopOptions options, const Body& body) {
    const Reg var = OpenFor(name, begin, end, options);
    body(Value(var));
    Close();
  }
  template <std::invocable Then>
  void If(Value condition, Uniform uniform, const Then& then) {
    OpenIf(condition, uniform);
    then();
    Close();
  }
  template <std::invocable Then, std::invocable Else>
  void If(Value condition, Uniform uniform, const Then& then, const Else& otherwise) {
    OpenIf(condition, uniform);
    then();
    OpenElse();
    otherwise();
    Close();
  }
  Value Load(std::string_view name, Type type, uint32_t buffer, Value offset, Value predicate = {},
             Cache cache = Cache::kDefault);
  void LoadInto(Reg dst, uint32_t buffer, Value offset, Value predicate = {}, Cache cache = Cache::kDefault);
  void Store(uint32_t buffer, Value offset, Value value, Value predicate = {});
  Value LoadShared(std::string_view name, Type type, uint32_t array, Value offset);
  void StoreShared(uint32_t array, Value offset, Value value, Value predicate = {});
  void Barrier() { Append({BarrierStmt{}}); }
  void WarpSync() { Append({WarpSyncStmt{}}); }
  Value ShuffleXor(std::string_view name, Value value, uint32_t mask);
  Value ShuffleIndex(std::string_view name, Value value, Value source);
  void AsyncCopy(uint32_t array, Value shared_offset, uint32_t buffer, Value global_offset, Value predicate = {});
  void AsyncCommit() { Append({AsyncCommitStmt{}}); }
  void AsyncWait(uint32_t pending) { Append({AsyncWaitStmt{pending}}); }
  void Mma(MmaKind kind, Reg dst, Value a, Value b, Value c);
  void Comment(std::string text) { Append({CommentStmt{std::move(text)}}); }

  // Butterfly over the 32 lanes, masks 16, 8, 4, 2, 1: every lane has the result. `combine` must be commutative bit for
  // bit (a sum, a maximum), or lanes would differ.
  template <std::invocable<Value, Value> Combine>
  Value WarpReduce(std::string_view name, Value value, const Combine& combine, uint32_t first_mask = 16) {
    const Reg result = Declare(name, value.type());
    Set(result, value);
    for (uint32_t mask = first_mask; mask != 0; mask /= 2)
      Set(result, combine(Value(result), ShuffleXor("other", result, mask)));
    return result;
  }

  Kernel Finish(Value num_tiles) &&;

  const Kernel& kernel() const { return kernel_; }
  Value Make(Op op, Type type, std::initializer_list<Value> args, uint64_t value = 0);

 private:
  friend struct Reg;
  Value Leaf(Op op) { return Make(op, kU32, {}); }
  std::string Unique(std::string_view name);
  void Append(Stmt stmt) { open_.back()->push_back(std::move(stmt)); }
  Reg OpenFor(std::string_view name, Value begin, Value end, LoopOptions options);
  void OpenIf(Value condition, Uniform uniform);
  void OpenElse();
  void Close();

  Kernel kernel_;
  // The blocks under construction, outermost first. Only the last one grows, so the pointers stay valid.
  std::vector<Block*> open_;
};

Value operator+(Value a, Value b);
Value operator-(Value a, Value b);
Value operator*(Value a, Value b);
Value operator/(Value a, Value b);
Value operator%(Value a, Value b);
Value operator&(Value a, Value b);
Value operator|(Value a, Value b);
Value operator^(Value a, Value b);
Value operator~(Value a);  // also "not" of a pred
Value operator<<(Value a, Value b);
Value operator>>(Value a, Value b);
Value operator==(Value a, Value b);
Value operator!=(Value a, Value b);
Value operator<(Value a, Value b);
Value operator<=(Value a, Value b);
inline Value operator>(Value a, Value b) { return b < a; }
inline Value operator>=(Value a, Value b) { return b <= a; }

// A number beside a value takes the value's type; a shift's amount is u32.
Value NumberLike(Value like, int64_t number);

#define QUERN_IR_NUMBER_OPERATOR(op)                    \
  template <std::integral T>                            \
  Value operator op(Value a, T b) {                     \
    return a op NumberLike(a, static_cast<int64_t>(b)); \
  }
QUERN_IR_NUMBER_OPERATOR(+)
QUERN_IR_NUMBER_OPERATOR(-)
QUERN_IR_NUMBER_OPERATOR(*)
QUERN_IR_NUMBER_OPERATOR(/)
QUERN_IR_NUMBER_OPERATOR(%)
QUERN_IR_NUMBER_OPERATOR(&)
QUERN_IR_NUMBER_OPERATOR(|)
QUERN_IR_NUMBER_OPERATOR(^)
QUERN_IR_NUMBER_OPERATOR(==)
QUERN_IR_NUMBER_OPERATOR(!=)
QUERN_IR_NUMBER_OPERATOR(<)
QUERN_IR_NUMBER_OPERATOR(<=)
QUERN_IR_NUMBER_OPERATOR(>)
QUERN_IR_NUMBER_OPERATOR(>=)
#undef QUERN_IR_NUMBER_OPERATOR
inline Value operator<<(Value a, uint32_t b);
inline Value operator>>(Value a, uint32_t b);
inline Value operator<<(Value a, uint32_t b) { return a << a.builder->U32(b); }
inline Value operator>>(Value a, uint32_t b) { return a >> a.builder->U32(b); }

}  // namespace quern::kernels::ir
