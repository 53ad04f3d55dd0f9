// Every kind of Mma equals a plain matrix product. The matrices are put into registers, and the result is taken out, by
// the sentences of kernel.h: walked lane by lane and word by word, the opposite way from the implementation, which asks
// where an element lies.
#include "kernels/ir/mma.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace quern::kernels::ir {
namespace {

struct Registers {
  std::vector<uint32_t> a, b, c, d = std::vector<uint32_t>(128, 0xA5A5A5A5u);
};

// Row-major codes: a [16][k], b [k][8]; c [16][8] of 32 bits.
struct Matrices {
  uint32_t k = 16;
  std::vector<uint32_t> a, b, c;
};

bool Is16Bit(MmaKind kind) { return kind == MmaKind::kF16K16 || kind == MmaKind::kBF16K16; }
bool IsSignedA(MmaKind kind) { return kind == MmaKind::kS8S8K16 || kind == MmaKind::kS8S8K32; }
uint32_t DepthOf(MmaKind kind) { return kind == MmaKind::kU8S8K32 || kind == MmaKind::kS8S8K32 ? 32 : 16; }

Registers Distribute(MmaKind kind, const Matrices& m) {
  Registers r;
  const uint32_t k = m.k;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane / 4, t = lane % 4;
    if (Is16Bit(kind)) {
      for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t at = (g + 8 * (w % 2)) * k + 8 * (w / 2) + 2 * t;
        r.a.push_back(m.a[at] | m.a[at + 1] << 16);
      }
      for (uint32_t w = 0; w < 2; ++w)
        r.b.push_back(m.b[(8 * w + 2 * t) * 8 + g] | m.b[(8 * w + 2 * t + 1) * 8 + g] << 16);
    } else {
      for (uint32_t w = 0; w < k / 8; ++w) {
        const uint32_t row = k == 32 ? g + 8 * (w % 2) : g + 8 * w, column = k == 32 ? 16 * (w / 2) + 4 * t : 4 * t;
        uint32_t word = 0;
        for (uint32_t i = 0; i < 4; ++i) word |= m.a[row * k + column + i] << (8 * i);
        r.a.push_back(word);
      }
      for (uint32_t w = 0; w < k / 16; ++w) {
        uint32_t word = 0;
        for (uint32_t i = 0; i < 4; ++i) word |= m.b[(16 * w + 4 * t + i) * 8 + g] << (8 * i);
        r.b.push_back(word);
      }
    }
    for (uint32_t e = 0; e < 4; ++e) r.c.push_back(m.c[(g + 8 * (e / 2)) * 8 + 2 * t + e % 2]);
  }
  return r;
}

std::vector<uint32_t> Collect(const std::vector<uint32_t>& d) {
  std::vector<uint32_t> out(128);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t e = 0; e < 4; ++e) out[(lane / 4 + 8 * (e / 2)) * 8 + 2 * (lane % 4) + e % 2] = d[lane * 4 + e];
  }
  return out;
}

// The value of a finite 16-bit float, from its fields.
double Decode(MmaKind kind, uint32_t code) {
  const int fraction_bits = kind == MmaKind::kF16K16 ? 10 : 7, bias = kind == MmaKind::kF16K16 ? 15 : 127;
  const int fraction = static_cast<int>(code & ((1u << fraction_bits) - 1));
  const int exponent = static_cast<int>((code & 0x7FFFu) >> fraction_bits);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                         : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return code & 0x8000u ? -magnitude : magnitude;
}

std::vector<uint32_t> Multiply(MmaKind kind, const Matrices& m) {
  std::vector<uint32_t> out;
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t col = 0; col < 8; ++col) {
      if (Is16Bit(kind)) {
        float sum = std::bit_cast<float>(m.c[row * 8 + col]);
        for (uint32_t k = 0; k < m.k; ++k)
          sum += static_cast<float>(Decode(kind, m.a[row * m.k + k]) * Decode(kind, m.b[k * 8 + col]));
        out.push_back(std::bit_cast<uint32_t>(sum));
        continue;
      }
      int64_t sum = static_cast<int32_t>(m.c[row * 8 + col]);
      for (uint32_t k = 0; k < m.k; ++k) {
        int64_t left = m.a[row * m.k + k], right = m.b[k * 8 + col];
        if (IsSignedA(kind) && left > 127) left -= 256;
        if (right > 127) right -= 256;
        sum += left * right;
      }
      out.push_back(static_cast<uint32_t>(sum));
    }
  }
  return out;
}

class MmaTest : public testing::TestWithParam<MmaKind> {
 protected:
  MmaKind kind() const { return GetParam(); }
  Matrices Zero() const {
    const uint32_t k = DepthOf(kind());
    return {k, std::vector<uint32_t>(16 * k), std::vector<uint32_t>(8 * k), std::vector<uint32_t>(128)};
  }
  uint32_t One() const { return kind() == MmaKind::kF16K16 ? 0x3C00u : kind() == MmaKind::kBF16K16 ? 0x3F80u : 1u; }
  void ExpectProduct(const Matrices& m) const {
    Registers r = Distribute(kind(), m);
    WarpMma(kind(), r.a.data(), r.b.data(), r.c.data(), r.d.data());
    EXPECT_EQ(Collect(r.d), Multiply(kind(), m));
  }
};

TEST_P(MmaTest, ShapeNamesTheOperands) {
  const MmaShape shape = ShapeOf(kind());
  const Registers r = Distribute(kind(), Zero());
  EXPECT_EQ(shape.k, DepthOf(kind()));
  EXPECT_EQ(shape.a_words * 32, r.a.size());
  EXPECT_EQ(shape.b_words * 32, r.b.size());
  EXPECT_EQ(shape.integer, !Is16Bit(kind()));
  EXPECT_EQ(shape.a_signed, IsSignedA(kind()));
}

TEST_P(MmaTest, RandomMatrices) {
  std::mt19937 random(static_cast<uint32_t>(kind()) + 1);
  for (int round = 0; round < 8; ++round) {
    Matrices m = Zero();
    // Finite 16-bit floats of all signs, some of them subnormal; all bytes.
    const auto code = [&]() -> uint32_t {
      const uint32_t bits = random() & 0xFFFFu;
      if (!Is16Bit(kind())) return bits & 0xFFu;
      if (kind() == MmaKind::kF16K16) return (bits & 0x7C00u) == 0x7C00u ? bits & 0x83FFu : bits;
      return (bits & 0x807Fu) | (0x3C00u + (random() & 0x0780u));
    };
    for (uint32_t& v : m.a) v = code();
    for (uint32_t& v : m.b) v = code();
    for (uint32_t& v : m.c) {
      v = static_cast<uint32_t>(random());
      if (Is16Bit(kind())) v = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(v)) * 0x1p-24f);
    }
    ExpectProduct(m);
  }
}

// One element of each matrix at a time: where a layout swaps two places, exactly one of these products moves.
TEST_P(MmaTest, EveryElementHasItsPlace) {
  const uint32_t depth = DepthOf(kind());
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t row = 0; row < 16; ++row) {
      Matrices m = Zero();
      m.a[row * depth + k] = One();
      for (uint32_t col = 0; col < 8; ++col) m.b[k * 8 + col] = One();
      Registers r = Distribute(kind(), m);
      WarpMma(kind(), r.a.data(), r.b.data(), r.c.data(), r.d.data());
      const std::vector<uint32_t> d = Collect(r.d);
      for (uint32_t i = 0; i < 128; ++i) {
        const uint32_t one = Is16Bit(kind()) ? 0x3F800000u : 1u;
        ASSERT_EQ(d[i], i / 8 == row ? one : 0u) << "k " << k << ", row " << row << ", element " << i;
      }
    }
  }
}

TEST_P(MmaTest, TheAccumulatorKeepsItsPlace) {
  Matrices m = Zero();
  for (uint32_t i = 0; i < 128; ++i) m.c[i] = Is16Bit(kind()) ? std::bit_cast<uint32_t>(static_cast<float>(i)) : i - 64;
  Registers r = Distribute(kind(), m);
  WarpMma(kind(), r.a.data(), r.b.data(), r.c.data(), r.d.data());
  EXPECT_EQ(Collect(r.d), m.c);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MmaTest,
                         testing::Values(MmaKind::kF16K16, MmaKind::kBF16K16, MmaKind::kU8S8K32, MmaKind::kS8S8K32,
                                         MmaKind::kU8S8K16, MmaKind::kS8S8K16));

// Integer sums wrap at 32 bits; they do not saturate.
TEST(Mma, IntegersWrap) {
  std::vector<uint32_t> a(128, 0x7F7F7F7Fu), b(64, 0x7F7F7F7Fu), c(128, 0x7FFFFFFFu), d(128);
  WarpMma(MmaKind::kS8S8K32, a.data(), b.data(), c.data(), d.data());
  for (const uint32_t v : d) EXPECT_EQ(v, 0x7FFFFFFFu + 32 * 127 * 127);
}

// The 16-bit kinds add in increasing k, one rounding each: 2^24 swallows each 1 that follows it, not those before.
TEST(Mma, FloatsAddInIncreasingK) {
  Matrices m{16, std::vector<uint32_t>(256), std::vector<uint32_t>(128), std::vector<uint32_t>(128)};
  for (uint32_t k = 0; k < 16; ++k) {
    m.a[k] = k == 3 ? 0x4B80u : 0x3F80u;  // 2^24, 1
    m.b[k * 8] = 0x3F80u;
  }
  Registers r = Distribute(MmaKind::kBF16K16, m);
  WarpMma(MmaKind::kBF16K16, r.a.data(), r.b.data(), r.c.data(), r.d.data());
  EXPECT_EQ(std::bit_cast<float>(Collect(r.d)[0]), 16777220.0f);  // 3 + 2^24 rounds to even; each 1 after it is lost
}

}  // namespace
}  // namespace quern::kernels::ir
