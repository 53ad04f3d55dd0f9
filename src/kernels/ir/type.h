// Types of the kernel IR: what a register holds, what a buffer stores, what an operand may be.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern::kernels::ir {

// 8- and 16-bit scalars exist to be loaded, stored and cast; arithmetic is on kI32, kU32, kU64 and kF32 alone. So no
// accumulator can be narrower than 32 bits (rule V11).
enum class Scalar : uint8_t { kPred, kI8, kU8, kU16, kI32, kU32, kU64, kF16, kBF16, kF32 };

struct Type {
  Scalar scalar = Scalar::kU32;
  uint8_t lanes = 1;  // 1; 2 or 4 for kI32, kU32 and kF32: operands of wide loads, wide stores and Mma

  friend bool operator==(const Type&, const Type&) = default;
};

inline constexpr Type kPred{Scalar::kPred}, kI8{Scalar::kI8}, kU8{Scalar::kU8}, kU16{Scalar::kU16}, kI32{Scalar::kI32},
    kU32{Scalar::kU32}, kU64{Scalar::kU64}, kF16{Scalar::kF16}, kBF16{Scalar::kBF16}, kF32{Scalar::kF32};
inline constexpr Type kU32x2{Scalar::kU32, 2}, kU32x4{Scalar::kU32, 4}, kI32x2{Scalar::kI32, 2},
    kI32x4{Scalar::kI32, 4}, kF32x2{Scalar::kF32, 2}, kF32x4{Scalar::kF32, 4};

constexpr int BytesOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::kPred:
    case Scalar::kI8:
    case Scalar::kU8:
      return 1;
    case Scalar::kU16:
    case Scalar::kF16:
    case Scalar::kBF16:
      return 2;
    case Scalar::kI32:
    case Scalar::kU32:
    case Scalar::kF32:
      return 4;
    case Scalar::kU64:
      return 8;
  }
  return 0;
}
constexpr int BytesOf(Type type) { return BytesOf(type.scalar) * type.lanes; }
constexpr bool IsFloat(Scalar scalar) {
  return scalar == Scalar::kF32 || scalar == Scalar::kF16 || scalar == Scalar::kBF16;
}

std::string_view NameOf(Scalar scalar);  // "u32"

}  // namespace quern::kernels::ir
