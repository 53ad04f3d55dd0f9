// The integer form stands for the same values as the scalar codec, for every quantised format, on random blocks.
#include "tensor/code_form.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/codec.h"
#include "tensor/half.h"

namespace quern {
namespace {

class CodeFormTest : public testing::TestWithParam<DType> {};

TEST_P(CodeFormTest, StandsForTheValuesOfTheCodec) {
  const DType type = GetParam();
  const CodeForm form = CodeFormOf(type);
  const int64_t blocks = 16;
  const DTypeInfo& info = InfoOf(type);
  std::mt19937 random(7);
  std::vector<std::byte> row(static_cast<size_t>(blocks * 32 / info.block_elems * info.block_bytes));
  // Blocks of the encoder, so that scales are finite.
  std::vector<float> values(32 * blocks);
  for (float& v : values) v = std::normal_distribution<float>()(random);
  ASSERT_TRUE(EncodeRow(type, values, {}, row.data()).has_value());
  DecodeRow(type, row.data(), values);

  for (int64_t b = 0; b < blocks; ++b) {
    const CodeBlock block = ReadCodeBlock(type, row.data(), b);
    const float scale =
        form.scale == ScaleKind::kE8m0PerBlock ? std::ldexp(1.0f, block.scale - 128) : HalfToFloat(block.scale);
    const float min_scale = form.min_codes != 0 ? -HalfToFloat(block.min_scale) : HalfToFloat(block.min_scale);
    for (int e = 0; e < 32; ++e) {
      int code = block.codes[e];
      if (form.table == CodeTable::kIq4) code = kIq4Codes[code];
      if (form.table == CodeTable::kMxfp4) code = kMxfp4Codes[code];
      if (form.is_signed && form.table == CodeTable::kNone) code = static_cast<int8_t>(code);
      const double value = static_cast<double>(scale) * block.sub_scales[e / 16] * (code - form.offset) +
                           (form.has_min ? static_cast<double>(min_scale) * block.mins[e / 16] : 0.0);
      // The codec rounds products of scales to f32.
      ASSERT_NEAR(value, values[32 * b + e], 1e-6 * (1 + std::abs(value))) << "block " << b << ", value " << e;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CodeFormTest,
                         testing::Values(DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                         DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                                         DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4),
                         [](const auto& param) { return std::string(NameOf(param.param)); });

}  // namespace
}  // namespace quern
