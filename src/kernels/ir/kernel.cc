#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {

std::string_view NameOf(Scalar scalar) {
  constexpr std::string_view kNames[] = {"pred", "i8", "u8", "u16", "i32", "u32", "u64", "f16", "bf16", "f32"};
  return kNames[static_cast<size_t>(scalar)];
}

std::string_view NameOf(Op op) {
  constexpr std::string_view kNames[] = {
      "const", "reg",      "param", "thread",  "lane",    "warp",    "tile",      "add",     "sub",
      "mul",   "mul_high", "div",   "mod",     "min",     "max",     "and",       "or",      "xor",
      "not",   "shl",      "shr",   "fma",     "sqrt",    "round",   "eq",        "ne",      "lt",
      "le",    "select",   "cast",  "bitcast", "dp4a_us", "dp4a_ss", "byte_perm", "extract", "vector"};
  static_assert(std::size(kNames) == static_cast<size_t>(Op::kVector) + 1);
  return kNames[static_cast<size_t>(op)];
}

std::string_view NameOf(MmaKind kind) {
  constexpr std::string_view kNames[] = {"m16n8k16.f16",   "m16n8k16.bf16",  "m16n8k32.u8.s8",
                                         "m16n8k32.s8.s8", "m16n8k16.u8.s8", "m16n8k16.s8.s8"};
  static_assert(std::size(kNames) == static_cast<size_t>(MmaKind::kS8S8K16) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::string_view NameOf(Uniform uniform) {
  constexpr std::string_view kNames[] = {"thread", "warp", "block"};
  return kNames[static_cast<size_t>(uniform)];
}

uint32_t Kernel::shared_offset(uint32_t array) const {
  uint32_t offset = 0;
  for (uint32_t i = 0; i < array; ++i) offset += shared[i].bytes;
  return offset;
}

uint32_t Kernel::shared_bytes() const { return shared_offset(static_cast<uint32_t>(shared.size())); }

}  // namespace quern::kernels::ir
