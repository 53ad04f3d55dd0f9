// What is proved here, for every format: the portable kernels compute the product (class dot-f against f64, class
// dot-i8 bit for bit against a model with exact integers); the AVX2 kernels equal the portable ones bit for bit at
// every shape; a row's result depends neither on the number of rows nor on how panels are cut over threads; NaN and
// infinities arrive.
#include "ops/cpu/matmul.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/cpu/test_formats.h"

namespace quern::ops::cpu {
namespace {

using device::cpu::BestIsa;
using device::cpu::CpuFeatures;
using device::cpu::Isa;
using testing::Block32;
using testing::FileMatrix;
using testing::RandomFloats;
using testing::ReadBlock;
using testing::SameBits;

std::vector<Isa> TestedIsas() {
  std::vector<Isa> isas = {Isa::kPortable};
  if (BestIsa(CpuFeatures::Host()) != Isa::kPortable) isas.push_back(BestIsa(CpuFeatures::Host()));
  return isas;
}

// Owns prepared activations.
struct Prepared {
  std::vector<float> f32, d;
  std::vector<int8_t> q;
  std::vector<int16_t> isum;
  Activations view;

  Prepared(Isa isa, const std::vector<float>& x, int64_t rows, int64_t cols) {
    const int64_t blocks = (cols + 31) / 32;
    f32.resize(rows * blocks * 32);
    q.resize(rows * blocks * 32);
    d.resize(rows * blocks);
    isum.resize(rows * blocks * 2);
    PrepareF32(isa, x.data(), cols, rows, cols, f32.data());
    PrepareQa8(isa, x.data(), cols, rows, cols, q.data(), d.data(), isum.data());
    view = {rows, blocks, f32.data(), q.data(), d.data(), isum.data()};
  }
};

constexpr float kUnwritten = -12345.0f;

std::vector<float> Multiply(const MatmulKernel& kernel, const PackedMatrix& weight, const Activations& x) {
  std::vector<float> y(x.num_rows * weight.num_rows, kUnwritten);
  kernel.run(weight, x, 0, (weight.num_rows + 7) / 8, y.data(), weight.num_rows);
  return y;
}

PackedMatrix Pack(const FileMatrix& file) {
  ThreadTeam team(2);
  Result<PackedMatrix> packed = PackMatrix(file.view(), team);
  EXPECT_TRUE(packed.has_value());
  EXPECT_EQ(static_cast<int64_t>(packed->data.size_bytes()),
            PackedBytes(file.view().dtype, file.view().num_rows(), file.view().row_elems()));
  return std::move(*packed);
}

// Chains 0 .. 7 by block number, combined as the contract says.
float Combine(const float (&chain)[8]) {
  return ((chain[0] + chain[4]) + (chain[2] + chain[6])) + ((chain[1] + chain[5]) + (chain[3] + chain[7]));
}

// The model of class dot-i8: quantises x in plain order with its own arithmetic and sums blocks with exact integers.
float ModelInt8(const FileMatrix& file, int64_t row, const float* x) {
  const TensorView& w = file.view();
  float chain[8] = {};
  for (int64_t b = 0; b < w.row_elems() / 32; ++b) {
    const Block32 block = ReadBlock(w.dtype, w.row(row), b * 32);
    float largest = 0;
    for (int e = 0; e < 32; ++e) largest = std::max(largest, std::fabs(x[b * 32 + e]));
    const float d = largest / 127.0f;
    const float inverse = d > 0 ? 1.0f / d : 0.0f;
    int64_t sum = 0, min_sum = 0;
    for (int e = 0; e < 32; ++e) {
      const int64_t code = std::lround(x[b * 32 + e] * inverse);
      sum += static_cast<int64_t>(block.c[e]) * code;
      min_sum += block.n[e / 16] * code;
    }
    float& acc = chain[b % 8];
    acc = std::fma(static_cast<float>(sum), block.d * d, acc);
    if (block.n[0] != 0 || block.n[1] != 0) acc = std::fma(static_cast<float>(min_sum), block.m * d, acc);
  }
  return Combine(chain);
}

// f64 product, and the sum of magnitudes that scales its error bound.
void ExactProduct(const FileMatrix& file, int64_t row, const float* x, double* product, double* magnitude) {
  const TensorView& w = file.view();
  *product = *magnitude = 0;
  for (int64_t at = 0; at + 32 <= w.row_elems(); at += 32) {
    const Block32 block = ReadBlock(w.dtype, w.row(row), at);
    for (int e = 0; e < 32; ++e) {
      const double code_part = double{block.d} * block.c[e] * x[at + e];
      const double min_part = double{block.m} * block.n[e / 16] * x[at + e];
      *product += code_part + min_part;
      *magnitude += std::fabs(code_part) + std::fabs(min_part);
    }
  }
}

class MatmulTest : public ::testing::TestWithParam<DType> {
 protected:
  bool quantized() const { return InfoOf(GetParam()).is_quantized; }
  // Two sizes with and without a full turn of the chains; multiples of the format's block.
  std::vector<int64_t> Widths() const {
    if (InfoOf(GetParam()).block_elems == 256) return {256, 768, 1536};
    if (quantized()) return {32, 96, 288, 1536};
    return {1, 31, 32, 100, 300, 1536};
  }
};

// What only quantised formats have: int8 kernels and scales.
class QuantizedMatmulTest : public MatmulTest {};

TEST_P(MatmulTest, DotFloatIsCloseToTheExactProduct) {
  // Every rounding is relative to a partial result no larger than the sum of magnitudes: 8-term partial sums, the fma
  // into the chain (K / 256 of them), the tree. 2^-24 each; 8 + 3 + 6 + 3 + scales is below 32.
  constexpr double kTolerance = 32 * 0x1p-24;
  constexpr int64_t kRows = 19, kCols = 1536, kTokens = 3;
  const FileMatrix file(GetParam(), kRows, kCols, 1);
  const std::vector<float> x = RandomFloats(kTokens * kCols, 2);
  const PackedMatrix packed = Pack(file);
  const Prepared prepared(Isa::kPortable, x, kTokens, kCols);
  const std::vector<float> y =
      Multiply(FindMatmul(GetParam(), Isa::kPortable, Numerics::kExact), packed, prepared.view);
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t n = 0; n < kRows; ++n) {
      double product = 0, magnitude = 0;
      ExactProduct(file, n, x.data() + t * kCols, &product, &magnitude);
      ASSERT_GT(magnitude, 0);
      EXPECT_NEAR(y[t * kRows + n], product, kTolerance * magnitude) << "token " << t << " row " << n;
    }
  }
}

TEST_P(QuantizedMatmulTest, DotInt8EqualsTheIntegerModel) {
  constexpr int64_t kRows = 11, kTokens = 6;
  for (const int64_t cols : Widths()) {
    const FileMatrix file(GetParam(), kRows, cols, 3);
    const std::vector<float> x = RandomFloats(kTokens * cols, 4);
    const PackedMatrix packed = Pack(file);
    for (const Isa isa : TestedIsas()) {
      const MatmulKernel& kernel = FindMatmul(GetParam(), isa, Numerics::kDefault);
      ASSERT_TRUE(kernel.int8);
      const std::vector<float> y = Multiply(kernel, packed, Prepared(isa, x, kTokens, cols).view);
      for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t n = 0; n < kRows; ++n) {
          ASSERT_TRUE(SameBits(y[t * kRows + n], ModelInt8(file, n, x.data() + t * cols)))
              << kernel.name << " K " << cols << " token " << t << " row " << n << ": " << y[t * kRows + n];
        }
      }
    }
  }
}

// The largest codes and activations of every sign: int16 sums inside the kernels must not saturate.
TEST_P(QuantizedMatmulTest, DotInt8SurvivesExtremeCodes) {
  constexpr int64_t kRows = 8, kCols = 256;
  for (const int fill : {0x00, 0xFF, 0x80, 0x7F, 0x0F, 0xF0}) {
    FileMatrix file(GetParam(), kRows, kCols, 5);
    const DTypeInfo& info = InfoOf(GetParam());
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t block = 0; block < kCols / info.block_elems; ++block) {
        std::byte* bytes = file.row(r) + block * info.block_bytes;
        std::memset(bytes, fill, static_cast<size_t>(info.block_bytes));
        if (GetParam() == DType::kMXFP4) {
          bytes[0] = std::byte{127};
        } else {
          const uint16_t one = FloatToHalf(1.0f);
          std::memcpy(bytes + FileMatrix::ScaleAt(GetParam()), &one, 2);
          if (FileMatrix::ScaleAt(GetParam()) + 4 <= info.block_bytes && GetParam() != DType::kQ8_0 &&
              GetParam() != DType::kQ4_0 && GetParam() != DType::kQ5_0 && GetParam() != DType::kIQ4_NL &&
              GetParam() != DType::kIQ4_XS) {
            std::memcpy(bytes + FileMatrix::ScaleAt(GetParam()) + 2, &one, 2);
          }
        }
      }
    }
    const PackedMatrix packed = Pack(file);
    for (const float sign : {1.0f, -1.0f}) {
      const std::vector<float> x(5 * kCols, sign * 3.0f);  // every code is +-127
      for (const Isa isa : TestedIsas()) {
        const MatmulKernel& kernel = FindMatmul(GetParam(), isa, Numerics::kDefault);
        for (const int64_t tokens : {1, 5}) {
          const std::vector<float> y = Multiply(kernel, packed, Prepared(isa, x, tokens, kCols).view);
          for (const float v : y) {
            ASSERT_TRUE(SameBits(v, ModelInt8(file, 0, x.data())))
                << kernel.name << " fill " << fill << " sign " << sign;
          }
        }
      }
    }
  }
}

TEST_P(MatmulTest, InstructionSetsAgreeAtEveryShape) {
  const Isa best = BestIsa(CpuFeatures::Host());
  if (best == Isa::kPortable) GTEST_SKIP() << "this processor has no other instruction set";
  for (const int64_t cols : Widths()) {
    for (const int64_t rows : {1, 8, 13, 40}) {
      const FileMatrix file(GetParam(), rows, cols, static_cast<uint32_t>(rows + cols));
      const PackedMatrix packed = Pack(file);
      for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 67}) {
        if (tokens > 9 && cols > 300 && rows > 13) continue;
        const std::vector<float> x = RandomFloats(tokens * cols, static_cast<uint32_t>(tokens));
        const Prepared reference(Isa::kPortable, x, tokens, cols), tested(best, x, tokens, cols);
        ASSERT_EQ(reference.f32, tested.f32);
        ASSERT_EQ(reference.q, tested.q);
        ASSERT_EQ(reference.d, tested.d);
        ASSERT_EQ(reference.isum, tested.isum);
        for (const Numerics numerics : {Numerics::kDefault, Numerics::kExact}) {
          const std::vector<float> expected =
              Multiply(FindMatmul(GetParam(), Isa::kPortable, numerics), packed, reference.view);
          const std::vector<float> actual = Multiply(FindMatmul(GetParam(), best, numerics), packed, tested.view);
          for (size_t i = 0; i < expected.size(); ++i) {
            ASSERT_TRUE(SameBits(expected[i], actual[i]))
                << "K " << cols << " N " << rows << " M " << tokens << " exact " << (numerics == Numerics::kExact)
                << " at " << i << ": " << expected[i] << " " << actual[i];
          }
        }
      }
    }
  }
}

TEST_P(MatmulTest, RowsDoNotDependOnTheirNumberNorOnTheCut) {
  constexpr int64_t kRows = 45, kTokens = 70;
  const int64_t cols = InfoOf(GetParam()).block_elems == 256 ? 2304 : 2400;  // longer than one unpacked stretch
  const FileMatrix file(GetParam(), kRows, cols, 8);
  const PackedMatrix packed = Pack(file);
  const std::vector<float> x = RandomFloats(kTokens * cols, 9);
  const Isa isa = BestIsa(CpuFeatures::Host());
  const Prepared all(isa, x, kTokens, cols);
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kExact}) {
    const MatmulKernel& kernel = FindMatmul(GetParam(), isa, numerics);
    const std::vector<float> whole = Multiply(kernel, packed, all.view);
    for (const int64_t first : {0, 1, 5, 33, 69}) {
      const std::vector<float> one(x.begin() + first * cols, x.begin() + (first + 1) * cols);
      const std::vector<float> y = Multiply(kernel, packed, Prepared(isa, one, 1, cols).view);
      for (int64_t n = 0; n < kRows; ++n)
        ASSERT_TRUE(SameBits(y[n], whole[first * kRows + n])) << kernel.name << " row " << n;
    }
    std::vector<float> parts(whole.size(), kUnwritten);
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 4}, {4, 6}}) {
      kernel.run(packed, all.view, begin, end, parts.data(), kRows);
    }
    EXPECT_EQ(parts, whole);
  }
}

TEST_P(MatmulTest, WritesItsPanelsOnly) {
  constexpr int64_t kRows = 21, kTokens = 5, kStride = 40;
  const int64_t cols = InfoOf(GetParam()).block_elems == 256 ? 256 : 64;
  const FileMatrix file(GetParam(), kRows, cols, 10);
  const PackedMatrix packed = Pack(file);
  const std::vector<float> x = RandomFloats(kTokens * cols, 11);
  for (const Isa isa : TestedIsas()) {
    const Prepared prepared(isa, x, kTokens, cols);
    for (const Numerics numerics : {Numerics::kDefault, Numerics::kExact}) {
      std::vector<float> y(kTokens * kStride, kUnwritten);
      FindMatmul(GetParam(), isa, numerics).run(packed, prepared.view, 1, 3, y.data(), kStride);
      for (int64_t t = 0; t < kTokens; ++t) {
        for (int64_t n = 0; n < kStride; ++n) {
          EXPECT_EQ(y[t * kStride + n] != kUnwritten, n >= 8 && n < kRows) << "token " << t << " column " << n;
        }
      }
    }
  }
}

TEST_P(MatmulTest, NonFiniteActivationsReachEveryOutput) {
  constexpr int64_t kRows = 9, kTokens = 3;
  const int64_t cols = 512;
  const FileMatrix file(GetParam(), kRows, cols, 12);
  const PackedMatrix packed = Pack(file);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> x = RandomFloats(kTokens * cols, 13);
    x[cols + 77] = bad;
    for (const Isa isa : TestedIsas()) {
      const Prepared prepared(isa, x, kTokens, cols);
      for (const Numerics numerics : {Numerics::kDefault, Numerics::kExact}) {
        const std::vector<float> y = Multiply(FindMatmul(GetParam(), isa, numerics), packed, prepared.view);
        for (int64_t n = 0; n < kRows; ++n) {
          EXPECT_TRUE(std::isfinite(y[n])) << n;
          EXPECT_FALSE(std::isfinite(y[kRows + n])) << n << " exact " << (numerics == Numerics::kExact);
          EXPECT_TRUE(std::isfinite(y[2 * kRows + n])) << n;
        }
      }
    }
  }
}

// Zero, subnormal and non-finite scales in the file: all levels agree, non-finite ones are not swallowed.
TEST_P(QuantizedMatmulTest, UnusualScalesOfTheFile) {
  constexpr int64_t kRows = 8, kCols = 512, kTokens = 5;
  FileMatrix file(GetParam(), kRows, kCols, 14);
  const float halves[] = {0.0f, -0.0f, 0x1p-24f, -0x1p-20f, 65504.0f};
  for (int r = 0; r < 5; ++r) {
    if (GetParam() == DType::kMXFP4) {
      file.row(r)[0] = static_cast<std::byte>(r);  // 2^-128 ... 2^-124
    } else {
      file.PutHalf(static_cast<size_t>(file.row(r) - file.row(0)) + FileMatrix::ScaleAt(GetParam()), halves[r]);
    }
  }
  if (GetParam() != DType::kMXFP4) {
    const size_t at = static_cast<size_t>(file.row(6) - file.row(0)) + FileMatrix::ScaleAt(GetParam());
    file.PutHalf(at, std::numeric_limits<float>::infinity());
  }
  const PackedMatrix packed = Pack(file);
  const std::vector<float> x = RandomFloats(kTokens * kCols, 15);
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kExact}) {
    std::vector<float> first;
    for (const Isa isa : TestedIsas()) {
      const std::vector<float> y =
          Multiply(FindMatmul(GetParam(), isa, numerics), packed, Prepared(isa, x, kTokens, kCols).view);
      if (first.empty()) first = y;
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(SameBits(first[i], y[i])) << i << ": " << first[i] << " " << y[i];
    }
    EXPECT_EQ(std::isfinite(first[6]), GetParam() == DType::kMXFP4);
    EXPECT_TRUE(std::isfinite(first[7]));
  }
}

std::string NameOfParam(const ::testing::TestParamInfo<DType>& info) { return std::string(NameOf(info.param)); }
INSTANTIATE_TEST_SUITE_P(Quantized, MatmulTest, ::testing::ValuesIn(testing::kQuantized), NameOfParam);
INSTANTIATE_TEST_SUITE_P(Quantized, QuantizedMatmulTest, ::testing::ValuesIn(testing::kQuantized), NameOfParam);
INSTANTIATE_TEST_SUITE_P(Plain, MatmulTest, ::testing::ValuesIn(testing::kPlain), NameOfParam);

TEST(PrepareQa8Test, RoundsHalvesAwayFromZeroAndSumsHalves) {
  for (const Isa isa : TestedIsas()) {
    std::vector<float> x(32, 0.0f);
    x[0] = 127.0f;  // d is 1
    x[1] = 2.5f;
    x[2] = -2.5f;
    x[3] = 0.49999997f;
    x[17] = -127.0f;
    x[18] = 1.5f;
    const Prepared p(isa, x, 1, 32);
    EXPECT_EQ(p.d[0], 1.0f);
    EXPECT_EQ((std::vector<int8_t>{p.q[0], p.q[1], p.q[2], p.q[3], p.q[17], p.q[18]}),
              (std::vector<int8_t>{127, 3, -3, 0, -127, 2}));
    EXPECT_EQ(p.isum[0], 127);
    EXPECT_EQ(p.isum[1], -125);
  }
}

TEST(PrepareQa8Test, TinyBlocksHaveNoCodesAndNonFiniteOnesKeepTheirScale) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Isa isa : TestedIsas()) {
    std::vector<float> x(96, 0.0f);
    x[3] = 1e-38f;  // d would be subnormal, its reciprocal infinite
    x[40] = -inf;
    x[41] = 1.0f;
    x[70] = std::numeric_limits<float>::quiet_NaN();
    x[71] = inf;
    const Prepared p(isa, x, 1, 96);
    for (const int8_t code : p.q) EXPECT_EQ(code, 0);
    EXPECT_LT(p.d[0], 1e-39f);
    EXPECT_TRUE(std::isnan(p.d[1]));  // chain-major: block 2 (chain 2) lies before block 1
    EXPECT_EQ(p.d[2], inf);
  }
}

TEST(FindMatmulTest, NamesSayFormatClassAndLevel) {
  EXPECT_EQ(FindMatmul(DType::kQ4_0, Isa::kPortable, Numerics::kDefault).name, "matmul.q4_0.qa8.rows8.portable");
  EXPECT_EQ(FindMatmul(DType::kQ4_0, Isa::kPortable, Numerics::kExact).name, "matmul.q4_0.f32.rows8.portable");
  EXPECT_EQ(FindMatmul(DType::kBF16, Isa::kPortable, Numerics::kDefault).name, "matmul.bf16.f32.rows8.portable");
  EXPECT_FALSE(FindMatmul(DType::kBF16, Isa::kPortable, Numerics::kDefault).int8);
}

}  // namespace
}  // namespace quern::ops::cpu
