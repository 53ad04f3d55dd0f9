#include "tensor/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tensor/tensor_view.h"

namespace quern {
namespace {

using testing::HasSubstr;

// Ids and sizes as the files use them, written out again independently of the table.
struct Expected {
  DType type;
  const char* name;
  uint32_t ggml_type;
  int elems, bytes;
};
constexpr Expected kExpected[] = {
    {DType::kF32, "F32", 0, 1, 4},
    {DType::kF16, "F16", 1, 1, 2},
    {DType::kBF16, "BF16", 30, 1, 2},
    {DType::kQ4_0, "Q4_0", 2, 32, 18},
    {DType::kQ4_1, "Q4_1", 3, 32, 20},
    {DType::kQ5_0, "Q5_0", 6, 32, 22},
    {DType::kQ5_1, "Q5_1", 7, 32, 24},
    {DType::kQ8_0, "Q8_0", 8, 32, 34},
    {DType::kQ2_K, "Q2_K", 10, 256, 84},
    {DType::kQ3_K, "Q3_K", 11, 256, 110},
    {DType::kQ4_K, "Q4_K", 12, 256, 144},
    {DType::kQ5_K, "Q5_K", 13, 256, 176},
    {DType::kQ6_K, "Q6_K", 14, 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 20, 32, 18},
    {DType::kIQ4_XS, "IQ4_XS", 23, 256, 136},
    {DType::kMXFP4, "MXFP4", 39, 32, 17},
    {DType::kI8, "I8", 24, 1, 1},
    {DType::kI16, "I16", 25, 1, 2},
    {DType::kI32, "I32", 26, 1, 4},
    {DType::kI64, "I64", 27, 1, 8},
    {DType::kF64, "F64", 28, 1, 8},
};

TEST(DType, TableHasTheNamesIdsAndSizesOfTheFiles) {
  ASSERT_EQ(std::size(kExpected), static_cast<size_t>(kNumDTypes));
  for (const Expected& expected : kExpected) {
    const DTypeInfo& info = InfoOf(expected.type);
    EXPECT_EQ(info.name, expected.name);
    EXPECT_EQ(NameOf(expected.type), expected.name);
    EXPECT_EQ(info.ggml_type, expected.ggml_type) << expected.name;
    EXPECT_EQ(info.block_elems, expected.elems) << expected.name;
    EXPECT_EQ(info.block_bytes, expected.bytes) << expected.name;
    EXPECT_EQ(info.is_quantized, expected.elems > 1) << expected.name;
    EXPECT_EQ(info.is_float, info.name[0] != 'I' || info.is_quantized) << expected.name;
    EXPECT_EQ(*DTypeFromGgml(expected.ggml_type), expected.type) << expected.name;
  }
}

TEST(DType, ForeignTypesAreRefusedByName) {
  const std::pair<uint32_t, const char*> foreign[] = {
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},  {19, "IQ1_S"},
      {21, "IQ3_S"}, {22, "IQ2_S"}, {29, "IQ1_M"},   {34, "TQ1_0"},  {35, "TQ2_0"},    {40, "NVFP4"},
      {41, "Q1_0"},  {42, "Q2_0"},  {4, "Q4_2"},     {5, "Q4_3"},    {31, "Q4_0_4_4"}, {36, "IQ4_NL_4_4"}};
  for (const auto& [id, name] : foreign) {
    const Result<DType> type = DTypeFromGgml(id);
    ASSERT_FALSE(type) << name;
    EXPECT_EQ(type.error().code, Code::kUnsupported) << name;
    EXPECT_THAT(type.error().message, HasSubstr(std::string(name) + " is"));
  }
}

TEST(DType, EveryNumberIsKnownNewerOrNotAType) {
  // ggml's list has no gap up to 42, so none of these may be called corrupt.
  for (uint32_t id = 0; id <= 42; ++id) {
    const Result<DType> type = DTypeFromGgml(id);
    EXPECT_TRUE(type || type.error().code == Code::kUnsupported) << id;
  }
  EXPECT_THAT(DTypeFromGgml(43).error().message, HasSubstr("43 is newer"));
  for (const uint32_t id : {64u, 1000u, 0xFFFFFFFFu}) EXPECT_EQ(DTypeFromGgml(id).error().code, Code::kCorrupt) << id;
}

TEST(DType, NamesAreFoundInAnyLetterCase) {
  EXPECT_EQ(DTypeFromName("Q4_K"), DType::kQ4_K);
  EXPECT_EQ(DTypeFromName("q4_k"), DType::kQ4_K);
  EXPECT_EQ(DTypeFromName("mxfp4"), DType::kMXFP4);
  EXPECT_EQ(DTypeFromName("bf16"), DType::kBF16);
  for (const char* name : {"", "Q4", "Q4_K_M", "Q4_K ", "IQ1_S"}) EXPECT_EQ(DTypeFromName(name), std::nullopt) << name;
}

// Sizes of real tables exceed 32 bits.
// Offsets of rows need 64 bits. The address range is reserved, never touched: pointer arithmetic is defined inside it
// only.
TEST(TensorView, RowsBeyondTwoGigabytes) {
  TensorView table = {nullptr, DType::kQ6_K, {262144, 10752}};
  const auto bytes = static_cast<size_t>(table.num_bytes());
  void* range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(range, MAP_FAILED);
  table.data = static_cast<const std::byte*>(range);
  EXPECT_EQ(table.row(262143) - table.row(0), int64_t{262143} * 10752 / 256 * 210);
  munmap(range, bytes);
}

TEST(TensorView, SizesOfRowsAndTensors) {
  const TensorView table = {nullptr, DType::kQ6_K, {262144, 10752}};
  EXPECT_EQ(table.row_bytes(), 10752 / 256 * 210);
  EXPECT_EQ(table.num_bytes(), int64_t{262144} * 10752 / 256 * 210);
  EXPECT_EQ(table.num_rows(), 262144);
  const TensorView experts = {nullptr, DType::kQ4_0, {128, 2816, 704}};
  EXPECT_EQ(experts.num_rows(), 128 * 2816);
  EXPECT_EQ(experts.num_bytes(), int64_t{128} * 2816 * 704 / 32 * 18);
  const TensorView scalar = {nullptr, DType::kF32, {}};
  EXPECT_EQ(scalar.num_bytes(), 4);
  EXPECT_EQ((TensorView{nullptr, DType::kF32, {0}}).num_bytes(), 0);
  EXPECT_EQ(experts.shape.ToString(), "[128, 2816, 704]");
}

}  // namespace
}  // namespace quern
