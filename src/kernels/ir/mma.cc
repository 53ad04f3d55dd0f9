#include "kernels/ir/mma.h"

#include <bit>

#include "tensor/half.h"

namespace quern::kernels::ir {
namespace {

// The 16-bit element (row, k) of A, or (k, column) of B.
uint16_t HalfOfA(const uint32_t* a, uint32_t row, uint32_t k) {
  const uint32_t lane = 4 * (row % 8) + k % 8 / 2, word = row / 8 + 2 * (k / 8);
  return static_cast<uint16_t>(a[lane * 4 + word] >> (16 * (k % 2)));
}
uint16_t HalfOfB(const uint32_t* b, uint32_t k, uint32_t col) {
  const uint32_t lane = 4 * col + k % 8 / 2, word = k / 8;
  return static_cast<uint16_t>(b[lane * 2 + word] >> (16 * (k % 2)));
}
uint8_t ByteOfA(const uint32_t* a, uint32_t words, uint32_t row, uint32_t k) {
  const uint32_t lane = 4 * (row % 8) + k % 16 / 4, word = row / 8 + 2 * (k / 16);
  return static_cast<uint8_t>(a[lane * words + word] >> (8 * (k % 4)));
}
uint8_t ByteOfB(const uint32_t* b, uint32_t words, uint32_t k, uint32_t col) {
  const uint32_t lane = 4 * col + k % 16 / 4, word = k / 16;
  return static_cast<uint8_t>(b[lane * words + word] >> (8 * (k % 4)));
}

}  // namespace

MmaShape ShapeOf(MmaKind kind) {
  switch (kind) {
    case MmaKind::kF16K16:
    case MmaKind::kBF16K16:
      return {16, 4, 2, false, false};
    case MmaKind::kU8S8K32:
      return {32, 4, 2, true, false};
    case MmaKind::kS8S8K32:
      return {32, 4, 2, true, true};
    case MmaKind::kU8S8K16:
      return {16, 2, 1, true, false};
    case MmaKind::kS8S8K16:
      return {16, 2, 1, true, true};
  }
  return {};
}

void WarpMma(MmaKind kind, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
  const MmaShape shape = ShapeOf(kind);
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t col = 0; col < 8; ++col) {
      const uint32_t at = 4 * (4 * (row % 8) + col / 2) + 2 * (row / 8) + col % 2;
      uint32_t sum = c[at];
      for (uint32_t k = 0; k < shape.k; ++k) {
        if (shape.integer) {
          const uint8_t code = ByteOfA(a, shape.a_words, row, k);
          const int32_t left = shape.a_signed ? static_cast<int8_t>(code) : code;
          sum += static_cast<uint32_t>(left * static_cast<int8_t>(ByteOfB(b, shape.b_words, k, col)));
        } else {
          const auto value = [&](uint16_t bits) {
            return kind == MmaKind::kF16K16 ? HalfToFloat(bits) : Bf16ToFloat(bits);
          };
          const float product = value(HalfOfA(a, row, k)) * value(HalfOfB(b, k, col));
          sum = std::bit_cast<uint32_t>(std::bit_cast<float>(sum) + product);
        }
      }
      d[at] = sum;
    }
  }
}

}  // namespace quern::kernels::ir
