#include "kernels/ir/evaluate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "tensor/half.h"

namespace quern::kernels::ir {
namespace {

float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t B(float value) { return std::bit_cast<uint32_t>(value); }
int32_t I(uint64_t bits) { return static_cast<int32_t>(static_cast<uint32_t>(bits)); }
uint64_t U(int32_t value) { return static_cast<uint32_t>(value); }

uint64_t Truncate(Scalar scalar, uint64_t bits) {
  const int bytes = BytesOf(scalar);
  if (scalar == Scalar::kPred) return bits & 1;
  return bytes == 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

// The value of an integer type as a wide signed integer; u64 wraps.
int64_t Signed(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::kI8) return static_cast<int8_t>(bits);
  if (scalar == Scalar::kI32) return I(bits);
  return static_cast<int64_t>(bits);
}

template <typename T>
uint64_t Saturate(float value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<float>(std::numeric_limits<T>::min()))
    return static_cast<uint32_t>(std::numeric_limits<T>::min());
  if (value >= static_cast<float>(std::numeric_limits<T>::max()))
    return static_cast<uint32_t>(std::numeric_limits<T>::max());
  return static_cast<uint32_t>(static_cast<T>(value));
}

float ToFloat(Scalar from, uint64_t bits) {
  switch (from) {
    case Scalar::kF32:
      return F(bits);
    case Scalar::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case Scalar::kBF16:
      return Bf16ToFloat(static_cast<uint16_t>(bits));
    case Scalar::kU64:
      return static_cast<float>(bits);
    default:
      return static_cast<float>(Signed(from, bits));
  }
}

uint64_t Cast(Scalar to, Scalar from, uint64_t bits) {
  if (to == Scalar::kF32) return B(ToFloat(from, bits));
  if (IsFloat(to)) {
    const float value = ToFloat(from, bits);
    if (std::isnan(value)) return 0x7FFF;
    return to == Scalar::kF16 ? FloatToHalf(value) : FloatToBf16(value);
  }
  if (IsFloat(from)) {
    const float value = ToFloat(from, bits);
    return to == Scalar::kI32 ? Saturate<int32_t>(value) : Saturate<uint32_t>(value);
  }
  return Truncate(to, static_cast<uint64_t>(Signed(from, bits)));
}

uint64_t Dot(uint64_t a, uint64_t b, uint64_t c, bool a_signed) {
  uint32_t sum = static_cast<uint32_t>(c);
  for (int i = 0; i < 4; ++i) {
    const uint8_t x = static_cast<uint8_t>(a >> (8 * i));
    const int32_t left = a_signed ? static_cast<int8_t>(x) : x;
    sum += static_cast<uint32_t>(left * static_cast<int8_t>(b >> (8 * i)));
  }
  return sum;
}

uint64_t BytePerm(uint64_t a, uint64_t b, uint64_t selector) {
  const uint64_t bytes = (a & 0xFFFFFFFFu) | b << 32;
  uint64_t out = 0;
  for (int i = 0; i < 4; ++i) out |= (bytes >> (8 * ((selector >> (4 * i)) & 7)) & 0xFF) << (8 * i);
  return out;
}

bool Less(Scalar scalar, uint64_t a, uint64_t b) {
  if (scalar == Scalar::kF32) return F(a) < F(b);
  if (scalar == Scalar::kI32) return I(a) < I(b);
  return a < b;
}

bool Equal(Scalar scalar, uint64_t a, uint64_t b) { return scalar == Scalar::kF32 ? F(a) == F(b) : a == b; }

uint64_t Arithmetic(Op op, Scalar scalar, uint64_t a, uint64_t b, bool& ok) {
  if (scalar == Scalar::kF32) {
    switch (op) {
      case Op::kAdd:
        return B(F(a) + F(b));
      case Op::kSub:
        return B(F(a) - F(b));
      case Op::kMul:
        return B(F(a) * F(b));
      default:
        return B(F(a) / F(b));
    }
  }
  switch (op) {
    case Op::kAdd:
      return Truncate(scalar, a + b);
    case Op::kSub:
      return Truncate(scalar, a - b);
    case Op::kMul:
      return Truncate(scalar, a * b);
    default:
      ok = b != 0;
      return !ok ? 0 : op == Op::kDiv ? a / b : a % b;
  }
}

}  // namespace

uint64_t Apply(const Expr& expr, Type operand, const uint64_t* v, bool& ok) {
  const Scalar scalar = operand.scalar;
  switch (expr.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod:
      return Arithmetic(expr.op, scalar, v[0], v[1], ok);
    case Op::kMulHigh:
      return (v[0] * v[1]) >> 32;
    case Op::kMin:
      return Less(scalar, v[1], v[0]) ? v[1] : v[0];
    case Op::kMax:
      return Less(scalar, v[0], v[1]) ? v[1] : v[0];
    case Op::kAnd:
      return v[0] & v[1];
    case Op::kOr:
      return v[0] | v[1];
    case Op::kXor:
      return v[0] ^ v[1];
    case Op::kNot:
      return Truncate(scalar, ~v[0]);
    case Op::kShl:
    case Op::kShr:
      ok = v[1] < static_cast<uint64_t>(8 * BytesOf(scalar));
      if (!ok) return 0;
      if (expr.op == Op::kShl) return Truncate(scalar, v[0] << v[1]);
      return scalar == Scalar::kI32 ? U(I(v[0]) >> v[1]) : v[0] >> v[1];
    case Op::kFma:
      return B(std::fma(F(v[0]), F(v[1]), F(v[2])));
    case Op::kSqrt:
      return B(std::sqrt(F(v[0])));
    case Op::kRound:
      return B(std::round(F(v[0])));
    case Op::kEq:
      return Equal(scalar, v[0], v[1]);
    case Op::kNe:
      return !Equal(scalar, v[0], v[1]);
    case Op::kLt:
      return Less(scalar, v[0], v[1]);
    case Op::kLe:
      return Less(scalar, v[0], v[1]) || Equal(scalar, v[0], v[1]);
    case Op::kCast:
      return Cast(expr.type.scalar, scalar, v[0]);
    case Op::kBitcast:
      return v[0];
    case Op::kDp4aUS:
      return Dot(v[0], v[1], v[2], false);
    case Op::kDp4aSS:
      return Dot(v[0], v[1], v[2], true);
    case Op::kBytePerm:
      return BytePerm(v[0], v[1], v[2]);
    default:
      QUERN_CHECK(false && "not an operation on scalars");
      return 0;
  }
}

void BlockState::Fault(uint32_t thread, const std::string& what) {
  if (fault.empty()) fault = fmt::format("tile {}, thread {}: {}", tile, thread, what);
}

Column Evaluate(BlockState& state, ExprId id) {
  const Expr& e = state.kernel.expr(id);
  const uint32_t threads = state.kernel.threads();
  if (e.op == Op::kReg) return state.registers[e.value];
  Column out(e.type, threads, true);
  if (e.num_args == 0) {
    for (uint32_t t = 0; t < threads; ++t) {
      switch (e.op) {
        case Op::kParam:
          out.at(t) = state.params[e.value];
          break;
        case Op::kThread:
          out.at(t) = t;
          break;
        case Op::kLane:
          out.at(t) = t % kWarpThreads;
          break;
        case Op::kWarp:
          out.at(t) = t / kWarpThreads;
          break;
        case Op::kTile:
          out.at(t) = state.tile;
          break;
        default:
          out.at(t) = e.value;
      }
    }
    return out;
  }
  std::vector<Column> args;
  args.reserve(e.num_args);
  for (int i = 0; i < e.num_args; ++i) args.push_back(Evaluate(state, e.args[i]));
  const Type operand = args[0].type;
  for (uint32_t t = 0; t < threads; ++t) {
    if (!state.active[t]) continue;
    if (e.op == Op::kSelect) {
      const Column& chosen = args[args[0].at(t) ? 1 : 2];
      out.defined[t] = args[0].defined[t] & chosen.defined[t];
      for (uint32_t lane = 0; lane < e.type.lanes; ++lane) out.at(t, lane) = chosen.at(t, lane);
      continue;
    }
    for (const Column& arg : args) out.defined[t] &= arg.defined[t];
    if (e.op == Op::kExtract) {
      out.at(t) = args[0].at(t, static_cast<uint32_t>(e.value));
    } else if (e.op == Op::kVector) {
      for (uint32_t lane = 0; lane < e.type.lanes; ++lane) out.at(t, lane) = args[lane].at(t);
    } else {
      uint64_t values[4] = {};
      for (int i = 0; i < e.num_args; ++i) values[i] = args[static_cast<size_t>(i)].at(t);
      bool ok = true;
      out.at(t) = Apply(e, operand, values, ok);
      if (!ok && out.defined[t])
        state.Fault(t, fmt::format("{} by {}", e.op == Op::kDiv || e.op == Op::kMod ? "division" : "shift", values[1]));
    }
  }
  return out;
}

}  // namespace quern::kernels::ir
