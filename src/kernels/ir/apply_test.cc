// Every operation of the IR against plain C++: what C++, PTX and MSL do not share is pinned here. Casts have their own
// file, cast_test.cc; evaluate_test.cc is about the threads of a block.
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ir/evaluate.h"

namespace quern::kernels::ir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kTiny = 0x1p-149f, kSmallestNormal = 0x1p-126f, kLargest = std::numeric_limits<float>::max();
constexpr int32_t kIntMin = std::numeric_limits<int32_t>::min(), kIntMax = std::numeric_limits<int32_t>::max();
const std::vector<float> kFloats = {0.0f,   -0.0f,           1.0f,       -1.0f,           0.5f,  -2.5f,
                                    3.0f,   kTiny,           -kTiny,     kSmallestNormal, 1e-40, 0.33333334f,
                                    -7e30f, kSmallestNormal, 16777216.f, 0x1p-100f,       kInf,  -kInf,
                                    kNan,   kLargest,        -kLargest};
const std::vector<int32_t> kInts = {0,   1,     -1,     2,          -2,      7,           127,    -128,
                                    255, 65535, -65536, 0x12345678, kIntMin, kIntMin + 1, kIntMax};
const std::vector<uint32_t> kWords = {0,    1,      2,          3,          31,         0x7F,      0x80,
                                      0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xDEADBEEF, 0xFFFFFFFF};
const std::vector<uint64_t> kLongs = {
    0, 1, 5, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x123456789ABCDEF0, ~uint64_t{0}};

uint64_t Bits(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t Bits(int32_t v) { return static_cast<uint32_t>(v); }
float Float(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

bool Legal(Op op, Type result, Type operand, std::initializer_list<uint64_t> args) {
  bool ok = true;
  Apply({op, result, static_cast<uint8_t>(args.size())}, operand, args.begin(), ok);
  return ok;
}
uint64_t Of(Op op, Type result, Type operand, std::initializer_list<uint64_t> args) {
  bool ok = true;
  const uint64_t value = Apply({op, result, static_cast<uint8_t>(args.size())}, operand, args.begin(), ok);
  EXPECT_TRUE(ok) << NameOf(op);
  return value;
}
uint64_t Of(Op op, Type type, std::initializer_list<uint64_t> args) { return Of(op, type, type, args); }

// Bit for bit, but any NaN equals any NaN.
void ExpectFloat(uint64_t bits, float expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(Float(bits))) << what << " is " << Float(bits);
  } else {
    EXPECT_EQ(bits, Bits(expected)) << what << " is " << Float(bits) << ", not " << expected;
  }
}

TEST(Apply, I32Wraps) {
  for (const int32_t a : kInts) {
    EXPECT_EQ(Of(Op::kNot, kI32, {Bits(a)}), Bits(-1 - a));
    for (const int32_t b : kInts) {
      const int64_t x = a, y = b;
      EXPECT_EQ(Of(Op::kAdd, kI32, {Bits(a), Bits(b)}), static_cast<uint32_t>(x + y)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kSub, kI32, {Bits(a), Bits(b)}), static_cast<uint32_t>(x - y)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMul, kI32, {Bits(a), Bits(b)}), static_cast<uint32_t>(x * y)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMin, kI32, {Bits(a), Bits(b)}), Bits(b < a ? b : a)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMax, kI32, {Bits(a), Bits(b)}), Bits(a < b ? b : a)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kAnd, kI32, {Bits(a), Bits(b)}), Bits(a & b));
      EXPECT_EQ(Of(Op::kOr, kI32, {Bits(a), Bits(b)}), Bits(a | b));
      EXPECT_EQ(Of(Op::kXor, kI32, {Bits(a), Bits(b)}), Bits(a ^ b));
      EXPECT_EQ(Of(Op::kEq, kPred, kI32, {Bits(a), Bits(b)}), a == b ? 1u : 0u);
      EXPECT_EQ(Of(Op::kNe, kPred, kI32, {Bits(a), Bits(b)}), a != b ? 1u : 0u);
      EXPECT_EQ(Of(Op::kLt, kPred, kI32, {Bits(a), Bits(b)}), a < b ? 1u : 0u) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kLe, kPred, kI32, {Bits(a), Bits(b)}), a <= b ? 1u : 0u) << a << ' ' << b;
    }
  }
}

// u32 in 64-bit arithmetic, cut to 32 bits; u64 in its own.
template <typename T>
void TestUnsigned(Type type, const std::vector<T>& values) {
  for (const T a : values) {
    EXPECT_EQ(Of(Op::kNot, type, {a}), std::numeric_limits<T>::max() - a);
    for (const T b : values) {
      EXPECT_EQ(Of(Op::kAdd, type, {a, b}), static_cast<T>(a + b)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kSub, type, {a, b}), static_cast<T>(a - b)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMul, type, {a, b}), static_cast<T>(a * b)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMin, type, {a, b}), b < a ? b : a);
      EXPECT_EQ(Of(Op::kMax, type, {a, b}), a < b ? b : a);
      EXPECT_EQ(Of(Op::kAnd, type, {a, b}), a & b);
      EXPECT_EQ(Of(Op::kOr, type, {a, b}), a | b);
      EXPECT_EQ(Of(Op::kXor, type, {a, b}), a ^ b);
      EXPECT_EQ(Of(Op::kEq, kPred, type, {a, b}), a == b ? 1u : 0u);
      EXPECT_EQ(Of(Op::kNe, kPred, type, {a, b}), a != b ? 1u : 0u);
      EXPECT_EQ(Of(Op::kLt, kPred, type, {a, b}), a < b ? 1u : 0u);
      EXPECT_EQ(Of(Op::kLe, kPred, type, {a, b}), a <= b ? 1u : 0u);
      EXPECT_EQ(Legal(Op::kDiv, type, type, {a, b}), b != 0);
      EXPECT_EQ(Legal(Op::kMod, type, type, {a, b}), b != 0);
      if (b == 0) continue;
      EXPECT_EQ(Of(Op::kDiv, type, {a, b}), a / b);
      EXPECT_EQ(Of(Op::kMod, type, {a, b}), a % b);
    }
  }
}
TEST(Apply, U32Wraps) { TestUnsigned<uint32_t>(kU32, kWords); }
TEST(Apply, U64Wraps) { TestUnsigned<uint64_t>(kU64, kLongs); }

TEST(Apply, MulHighIsTheUpperHalf) {
  for (const uint32_t a : kWords) {
    for (const uint32_t b : kWords)
      EXPECT_EQ(Of(Op::kMulHigh, kU32, {a, b}), static_cast<uint32_t>((uint64_t{a} * b) >> 32)) << a << ' ' << b;
  }
  EXPECT_EQ(Of(Op::kMulHigh, kU32, {0xFFFFFFFFu, 0xFFFFFFFFu}), 0xFFFFFFFEu);
}

TEST(Apply, ShiftsStayBelowTheWidth) {
  for (uint32_t n = 0; n < 32; ++n) {
    for (const int32_t a : kInts) {
      EXPECT_EQ(Of(Op::kShl, kI32, {Bits(a), n}), static_cast<uint32_t>(Bits(a) << n));
      // Arithmetic: rounds down.
      const int32_t down = static_cast<int32_t>(std::floor(std::ldexp(static_cast<double>(a), -static_cast<int>(n))));
      EXPECT_EQ(Of(Op::kShr, kI32, {Bits(a), n}), Bits(down)) << a << " >> " << n;
    }
    for (const uint32_t a : kWords) {
      EXPECT_EQ(Of(Op::kShl, kU32, {a, n}), static_cast<uint32_t>(a << n));
      EXPECT_EQ(Of(Op::kShr, kU32, {a, n}), a / (uint64_t{1} << n)) << a << " >> " << n;
    }
  }
  for (uint32_t n = 0; n < 64; ++n) {
    for (const uint64_t a : kLongs) {
      EXPECT_EQ(Of(Op::kShl, kU64, {a, n}), a * (uint64_t{1} << n));
      EXPECT_EQ(Of(Op::kShr, kU64, {a, n}), a / (uint64_t{1} << n));
    }
  }
  for (const Op op : {Op::kShl, Op::kShr}) {
    EXPECT_FALSE(Legal(op, kI32, kI32, {1, 32}));
    EXPECT_FALSE(Legal(op, kU32, kU32, {1, 32}));
    EXPECT_FALSE(Legal(op, kU32, kU32, {1, 0xFFFFFFFF}));
    EXPECT_FALSE(Legal(op, kU64, kU64, {1, 64}));
  }
}

TEST(Apply, PredicatesAreOneBit) {
  for (const uint64_t a : {0u, 1u}) {
    EXPECT_EQ(Of(Op::kNot, kPred, {a}), 1 - a);
    for (const uint64_t b : {0u, 1u}) {
      EXPECT_EQ(Of(Op::kAnd, kPred, {a, b}), a * b);
      EXPECT_EQ(Of(Op::kOr, kPred, {a, b}), a + b == 0 ? 0u : 1u);
      EXPECT_EQ(Of(Op::kXor, kPred, {a, b}), (a + b) % 2);
    }
  }
}

TEST(Apply, F32RoundsOnceAndKeepsSubnormals) {
  for (const float a : kFloats) {
    for (const float b : kFloats) {
      const std::string what = std::to_string(a) + " and " + std::to_string(b);
      ExpectFloat(Of(Op::kAdd, kF32, {Bits(a), Bits(b)}), a + b, "the sum of " + what);
      ExpectFloat(Of(Op::kSub, kF32, {Bits(a), Bits(b)}), a - b, "the difference of " + what);
      ExpectFloat(Of(Op::kMul, kF32, {Bits(a), Bits(b)}), a * b, "the product of " + what);
      ExpectFloat(Of(Op::kDiv, kF32, {Bits(a), Bits(b)}), a / b, "the quotient of " + what);
      EXPECT_EQ(Of(Op::kEq, kPred, kF32, {Bits(a), Bits(b)}), a == b ? 1u : 0u) << what;
      EXPECT_EQ(Of(Op::kNe, kPred, kF32, {Bits(a), Bits(b)}), a != b ? 1u : 0u) << what;
      EXPECT_EQ(Of(Op::kLt, kPred, kF32, {Bits(a), Bits(b)}), a < b ? 1u : 0u) << what;
      EXPECT_EQ(Of(Op::kLe, kPred, kF32, {Bits(a), Bits(b)}), a <= b ? 1u : 0u) << what;
      for (const float c : kFloats)
        ExpectFloat(Of(Op::kFma, kF32, {Bits(a), Bits(b), Bits(c)}), std::fma(a, b, c), "the fma of " + what);
    }
    ExpectFloat(Of(Op::kSqrt, kF32, {Bits(a)}), static_cast<float>(std::sqrt(static_cast<double>(a))), "sqrt");
  }
  EXPECT_EQ(Of(Op::kMul, kF32, {Bits(kSmallestNormal), Bits(0.5f)}), 0x00400000u);
  EXPECT_EQ(Of(Op::kDiv, kF32, {Bits(1.0f), Bits(-0.0f)}), Bits(-kInf));
  EXPECT_EQ(Of(Op::kAdd, kF32, {Bits(-0.0f), Bits(-0.0f)}), Bits(-0.0f));
  // Two roundings would give 0.
  EXPECT_EQ(Of(Op::kFma, kF32, {Bits(1 + 0x1p-12f), Bits(1 + 0x1p-12f), Bits(-1 - 0x1p-11f)}), Bits(0x1p-24f));
}

// Conditional expressions, not IEEE minimum: what is returned with a NaN or with zeros depends on the order.
TEST(Apply, MinAndMaxAreTernaries) {
  for (const float a : kFloats) {
    for (const float b : kFloats) {
      EXPECT_EQ(Of(Op::kMin, kF32, {Bits(a), Bits(b)}), Bits(b < a ? b : a)) << a << ' ' << b;
      EXPECT_EQ(Of(Op::kMax, kF32, {Bits(a), Bits(b)}), Bits(a < b ? b : a)) << a << ' ' << b;
    }
  }
  for (const Op op : {Op::kMin, Op::kMax}) {
    EXPECT_EQ(Of(op, kF32, {Bits(kNan), Bits(1.0f)}), Bits(kNan));
    EXPECT_EQ(Of(op, kF32, {Bits(1.0f), Bits(kNan)}), Bits(1.0f));
    EXPECT_EQ(Of(op, kF32, {Bits(-0.0f), Bits(0.0f)}), Bits(-0.0f));
    EXPECT_EQ(Of(op, kF32, {Bits(0.0f), Bits(-0.0f)}), Bits(0.0f));
  }
}

TEST(Apply, RoundTakesHalvesAwayFromZero) {
  const std::pair<float, float> cases[] = {{0.5f, 1.0f},
                                           {-0.5f, -1.0f},
                                           {1.5f, 2.0f},
                                           {2.5f, 3.0f},
                                           {-2.5f, -3.0f},
                                           {0.49999997f, 0.0f},
                                           {-0.3f, -0.0f},
                                           {0.0f, 0.0f},
                                           {-0.0f, -0.0f},
                                           {kTiny, 0.0f},
                                           {8388609.0f, 8388609.0f},
                                           {4194304.5f, 4194305.0f},
                                           {-126.5f, -127.0f},
                                           {kInf, kInf},
                                           {-kInf, -kInf},
                                           {kNan, kNan}};
  for (const auto& [in, out] : cases) ExpectFloat(Of(Op::kRound, kF32, {Bits(in)}), out, std::to_string(in));
}

TEST(Apply, DotProductsOfBytes) {
  for (const uint32_t a : {0x00000000u, 0xFF80017Fu, 0x80808080u, 0xFFFFFFFFu, 0x04030201u}) {
    for (const uint32_t b : {0x01010101u, 0x7F80FF01u, 0x80808080u, 0x7F7F7F7Fu, 0x01000000u}) {
      for (const int32_t c : {0, -1, kIntMax, kIntMin}) {
        int64_t us = c, ss = c;
        for (int i = 0; i < 4; ++i) {
          const int x = static_cast<int>(a >> (8 * i) & 0xFF);
          int y = static_cast<int>(b >> (8 * i) & 0xFF);
          if (y > 127) y -= 256;
          us += x * y;
          ss += (x > 127 ? x - 256 : x) * y;
        }
        EXPECT_EQ(Of(Op::kDp4aUS, kI32, kU32, {a, b, Bits(c)}), static_cast<uint32_t>(us)) << a << ' ' << b;
        EXPECT_EQ(Of(Op::kDp4aSS, kI32, kU32, {a, b, Bits(c)}), static_cast<uint32_t>(ss)) << a << ' ' << b;
      }
    }
  }
}

TEST(Apply, BytePermPicksBytesOfBoth) {
  const uint32_t a = 0x13121110, b = 0x17161514;
  for (uint32_t selector = 0; selector < 0x10000; ++selector) {
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 4; ++i) expected |= (0x10 + (selector >> (4 * i)) % 8) << (8 * i);
    ASSERT_EQ(Of(Op::kBytePerm, kU32, {a, b, selector}), expected) << selector;
  }
  EXPECT_EQ(Of(Op::kBytePerm, kU32, {a, b, 0xABCD7654}), b);  // the upper half of the selector is not read
}

}  // namespace
}  // namespace quern::kernels::ir
