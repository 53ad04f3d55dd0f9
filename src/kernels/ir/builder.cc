#include "kernels/ir/builder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace quern::kernels::ir {

Type Value::type() const { return builder->kernel().exprs[id].type; }

Value Reg::value() const { return builder->Make(Op::kReg, builder->kernel_.registers[id].type, {}, id); }

Builder::Builder(Options options) {
  kernel_.warps = options.warps;
  kernel_.min_blocks = options.min_blocks;
  open_.push_back(&kernel_.body);
}

uint32_t Builder::AddBuffer(std::string name, Access access, Value min_bytes, uint32_t align) {
  QUERN_CHECK(min_bytes.type() == kU64 && kernel_.buffers.size() < kMaxBuffers);
  kernel_.buffers.push_back({std::move(name), access, align, min_bytes.id});
  return static_cast<uint32_t>(kernel_.buffers.size()) - 1;
}

Value Builder::U32Param(std::string name, uint32_t min, uint32_t max, uint32_t multiple_of) {
  kernel_.params.push_back({std::move(name), Scalar::kU32, min, max, multiple_of});
  QUERN_CHECK(std::count_if(kernel_.params.begin(), kernel_.params.end(),
                            [](const Param& p) { return p.type == Scalar::kU32; }) <= kMaxU32Params);
  return Make(Op::kParam, kU32, {}, kernel_.params.size() - 1);
}

Value Builder::F32Param(std::string name) {
  kernel_.params.push_back({std::move(name), Scalar::kF32});
  QUERN_CHECK(std::count_if(kernel_.params.begin(), kernel_.params.end(),
                            [](const Param& p) { return p.type == Scalar::kF32; }) <= kMaxF32Params);
  return Make(Op::kParam, kF32, {}, kernel_.params.size() - 1);
}

uint32_t Builder::AddShared(std::string name, uint32_t bytes) {
  kernel_.shared.push_back({std::move(name), (bytes + 15) / 16 * 16});
  return static_cast<uint32_t>(kernel_.shared.size()) - 1;
}

Value Builder::Const(Type type, uint64_t bits) { return Make(Op::kConst, type, {}, bits); }

Value Builder::Make(Op op, Type type, std::initializer_list<Value> args, uint64_t value) {
  Expr expr{op, type, static_cast<uint8_t>(args.size()), {}, value};
  size_t i = 0;
  for (const Value& arg : args) {
    QUERN_CHECK(arg.builder == this && i < expr.args.size());
    expr.args[i++] = arg.id;
  }
  kernel_.exprs.push_back(expr);
  return {this, static_cast<ExprId>(kernel_.exprs.size()) - 1};
}

Value Builder::Cast(Type type, Value a) { return a.type() == type ? a : Make(Op::kCast, type, {a}); }

Value Builder::Bitcast(Type type, Value a) {
  QUERN_CHECK(BytesOf(type) == BytesOf(a.type()));
  return a.type() == type ? a : Make(Op::kBitcast, type, {a});
}

Value Builder::Extract(Value vector, uint32_t element) {
  QUERN_CHECK(element < vector.type().lanes);
  return Make(Op::kExtract, {vector.type().scalar}, {vector}, element);
}

Value Builder::Vector(const std::vector<Value>& elements) {
  QUERN_CHECK(elements.size() == 2 || elements.size() == 4);
  const Type type{elements[0].type().scalar, static_cast<uint8_t>(elements.size())};
  return elements.size() == 2 ? Make(Op::kVector, type, {elements[0], elements[1]})
                              : Make(Op::kVector, type, {elements[0], elements[1], elements[2], elements[3]});
}

Value Builder::DivideUp(Value a, uint32_t by) { return (a + (by - 1)) / by; }

std::string Builder::Unique(std::string_view name) {
  // Names that emitted text gives to other things.
  constexpr std::string_view kReserved[] = {"tid", "lane", "warp", "tile", "args", "smem"};
  const auto named = [](const auto& list, std::string_view candidate) {
    return std::any_of(list.begin(), list.end(), [&](const auto& item) { return item.name == candidate; });
  };
  const auto taken = [&](std::string_view candidate) {
    return std::find(std::begin(kReserved), std::end(kReserved), candidate) != std::end(kReserved) ||
           named(kernel_.registers, candidate) || named(kernel_.params, candidate) ||
           named(kernel_.buffers, candidate) || named(kernel_.shared, candidate);
  };
  std::string unique(name);
  for (int i = 2; taken(unique); ++i) unique = std::string(name) + "_" + std::to_string(i);
  return unique;
}

Reg Builder::Declare(std::string_view name, Type type) {
  kernel_.registers.push_back({Unique(name), type});
  return {this, static_cast<RegId>(kernel_.registers.size()) - 1};
}

void Builder::Set(Reg dst, Value value) {
  QUERN_CHECK(kernel_.registers[dst.id].type == value.type());
  Append({SetStmt{dst.id, value.id}});
}

Value Builder::Let(std::string_view name, Value value) {
  const Reg reg = Declare(name, value.type());
  Set(reg, value);
  return reg;
}

Reg Builder::OpenFor(std::string_view name, Value begin, Value end, LoopOptions options) {
  QUERN_CHECK(begin.type() == kU32 && end.type() == kU32 && options.step > 0);
  const Reg var = Declare(name, kU32);
  Append({ForStmt{var.id, begin.id, end.id, options.step, options.unroll, options.uniform, {}}});
  open_.push_back(&std::get<ForStmt>(open_.back()->back().node).body);
  return var;
}

void Builder::OpenIf(Value condition, Uniform uniform) {
  QUERN_CHECK(condition.type() == kPred);
  Append({IfStmt{condition.id, uniform, {}, {}}});
  open_.push_back(&std::get<IfStmt>(open_.back()->back().node).then_body);
}

void Builder::OpenElse() {
  open_.pop_back();
  open_.push_back(&std::get<IfStmt>(open_.back()->back().node).else_body);
}

void Builder::Close() {
  QUERN_CHECK(open_.size() > 1);
  open_.pop_back();
}

Value Builder::Load(std::string_view name, Type type, uint32_t buffer, Value offset, Value predicate, Cache cache) {
  const Reg dst = Declare(name, type);
  LoadInto(dst, buffer, offset, predicate, cache);
  return dst;
}

void Builder::LoadInto(Reg dst, uint32_t buffer, Value offset, Value predicate, Cache cache) {
  Append({LoadGlobalStmt{dst.id, buffer, offset.id, predicate.id, cache}});
}

void Builder::Store(uint32_t buffer, Value offset, Value value, Value predicate) {
  Append({StoreGlobalStmt{buffer, offset.id, value.id, predicate.id}});
}

Value Builder::LoadShared(std::string_view name, Type type, uint32_t array, Value offset) {
  const Reg dst = Declare(name, type);
  Append({LoadSharedStmt{dst.id, array, offset.id}});
  return dst;
}

void Builder::StoreShared(uint32_t array, Value offset, Value value, Value predicate) {
  Append({StoreSharedStmt{array, offset.id, value.id, predicate.id}});
}

Value Builder::ShuffleXor(std::string_view name, Value value, uint32_t mask) {
  const Reg dst = Declare(name, value.type());
  Append({ShuffleXorStmt{dst.id, value.id, mask}});
  return dst;
}

Value Builder::ShuffleIndex(std::string_view name, Value value, Value source) {
  const Reg dst = Declare(name, value.type());
  Append({ShuffleIndexStmt{dst.id, value.id, source.id}});
  return dst;
}

void Builder::AsyncCopy(uint32_t array, Value shared_offset, uint32_t buffer, Value global_offset, Value predicate) {
  Append({AsyncCopyStmt{array, shared_offset.id, buffer, global_offset.id, predicate.id}});
}

void Builder::Mma(MmaKind kind, Reg dst, Value a, Value b, Value c) {
  Append({MmaStmt{kind, dst.id, a.id, b.id, c.id}});
}

Kernel Builder::Finish(Value num_tiles) && {
  QUERN_CHECK(open_.size() == 1 && num_tiles.type() == kU32);
  kernel_.num_tiles = num_tiles.id;
  return std::move(kernel_);
}

namespace {

const Expr* Constant(Value v) {
  const Expr& e = v.builder->kernel().expr(v.id);
  return e.op == Op::kConst ? &e : nullptr;
}

// Generators write `base + part * size` for parts and sizes that are often constants; folding them keeps the text
// short. Only u32 and u64: their arithmetic wraps and has no other rule.
Value Fold(Op op, Value a, Value b) {
  if (a.type() != kU32 && a.type() != kU64) return {};
  const Expr *x = Constant(a), *y = Constant(b);
  const auto constant = [&](uint64_t bits) {
    return a.builder->Const(a.type(), a.type() == kU32 ? bits & 0xFFFFFFFFu : bits);
  };
  if (x != nullptr && y != nullptr) {
    if (op == Op::kAdd) return constant(x->value + y->value);
    if (op == Op::kSub) return constant(x->value - y->value);
    if (op == Op::kMul) return constant(x->value * y->value);
    if (op == Op::kAnd) return constant(x->value & y->value);
  }
  const bool x_zero = x != nullptr && x->value == 0, y_zero = y != nullptr && y->value == 0;
  if (op == Op::kAdd && x_zero) return b;
  if ((op == Op::kAdd || op == Op::kSub || op == Op::kOr) && y_zero) return a;
  if (op == Op::kMul && (x_zero || y_zero)) return constant(0);
  if ((op == Op::kMul || op == Op::kDiv) && y != nullptr && y->value == 1) return a;
  return {};
}

Value Binary(Op op, Value a, Value b) {
  QUERN_CHECK(a.type() == b.type());
  const Value folded = Fold(op, a, b);
  return folded.builder != nullptr ? folded : a.builder->Make(op, a.type(), {a, b});
}

Value Compare(Op op, Value a, Value b) {
  QUERN_CHECK(a.type() == b.type());
  return a.builder->Make(op, kPred, {a, b});
}

Value Shift(Op op, Value a, Value b) {
  QUERN_CHECK(b.type() == kU32);
  const Expr *x = Constant(a), *y = Constant(b);
  if (y != nullptr && y->value == 0) return a;
  if (a.type() == kU32 && op == Op::kShr && x != nullptr && y != nullptr && y->value < 32)
    return a.builder->U32(static_cast<uint32_t>(x->value >> y->value));
  return a.builder->Make(op, a.type(), {a, b});
}

}  // namespace

Value operator+(Value a, Value b) { return Binary(Op::kAdd, a, b); }
Value operator-(Value a, Value b) { return Binary(Op::kSub, a, b); }
Value operator*(Value a, Value b) { return Binary(Op::kMul, a, b); }
Value operator/(Value a, Value b) { return Binary(Op::kDiv, a, b); }
Value operator%(Value a, Value b) { return Binary(Op::kMod, a, b); }
Value operator&(Value a, Value b) { return Binary(Op::kAnd, a, b); }
Value operator|(Value a, Value b) { return Binary(Op::kOr, a, b); }
Value operator^(Value a, Value b) { return Binary(Op::kXor, a, b); }
Value operator~(Value a) { return a.builder->Make(Op::kNot, a.type(), {a}); }
Value operator<<(Value a, Value b) { return Shift(Op::kShl, a, b); }
Value operator>>(Value a, Value b) { return Shift(Op::kShr, a, b); }
Value operator==(Value a, Value b) { return Compare(Op::kEq, a, b); }
Value operator!=(Value a, Value b) { return Compare(Op::kNe, a, b); }
Value operator<(Value a, Value b) { return Compare(Op::kLt, a, b); }
Value operator<=(Value a, Value b) { return Compare(Op::kLe, a, b); }

Value NumberLike(Value like, int64_t number) {
  const Type type = like.type();
  QUERN_CHECK(type == kI32 || type == kU32 || type == kU64);
  return like.builder->Const(type, type == kU64 ? static_cast<uint64_t>(number) : static_cast<uint32_t>(number));
}

}  // namespace quern::kernels::ir
