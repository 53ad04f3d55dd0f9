#include "tensor/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/tensor_view.h"

namespace quern {
namespace {

constexpr std::array<DTypeInfo, kNumDTypes> kInfos = {{
    {"F32", 0, 1, 4, false, true},      {"F16", 1, 1, 2, false, true},      {"BF16", 30, 1, 2, false, true},
    {"Q4_0", 2, 32, 18, true, true},    {"Q4_1", 3, 32, 20, true, true},    {"Q5_0", 6, 32, 22, true, true},
    {"Q5_1", 7, 32, 24, true, true},    {"Q8_0", 8, 32, 34, true, true},    {"Q2_K", 10, 256, 84, true, true},
    {"Q3_K", 11, 256, 110, true, true}, {"Q4_K", 12, 256, 144, true, true}, {"Q5_K", 13, 256, 176, true, true},
    {"Q6_K", 14, 256, 210, true, true}, {"IQ4_NL", 20, 32, 18, true, true}, {"IQ4_XS", 23, 256, 136, true, true},
    {"MXFP4", 39, 32, 17, true, true},  {"I8", 24, 1, 1, false, false},     {"I16", 25, 1, 2, false, false},
    {"I32", 26, 1, 4, false, false},    {"I64", 27, 1, 8, false, false},    {"F64", 28, 1, 8, false, true},
}};

struct ForeignType {
  uint32_t ggml_type;
  std::string_view name;
};
// Types of ggml that occur in files and are refused by name.
constexpr std::array<ForeignType, 22> kForeign = {{
    {9, "Q8_1"},      {15, "Q8_K"},     {16, "IQ2_XXS"},    {17, "IQ2_XS"},     {18, "IQ3_XXS"},    {19, "IQ1_S"},
    {21, "IQ3_S"},    {22, "IQ2_S"},    {29, "IQ1_M"},      {34, "TQ1_0"},      {35, "TQ2_0"},      {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"}, {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {4, "Q4_2"},
    {5, "Q4_3"},      {40, "NVFP4"},    {41, "Q1_0"},       {42, "Q2_0"},
}};

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

}  // namespace

const DTypeInfo& InfoOf(DType type) { return kInfos[static_cast<size_t>(type)]; }

Result<DType> DTypeFromGgml(uint32_t ggml_type) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (kInfos[i].ggml_type == ggml_type) return static_cast<DType>(i);
  }
  for (const ForeignType& foreign : kForeign) {
    if (foreign.ggml_type == ggml_type)
      return Fail(Code::kUnsupported, "tensor type {} is not supported", foreign.name);
  }
  if (ggml_type >= 43 && ggml_type < 64) {
    return Fail(Code::kUnsupported, "tensor type number {} is newer than this build", ggml_type);
  }
  return Fail(Code::kCorrupt, "{} is not a tensor type", ggml_type);
}

std::optional<DType> DTypeFromName(std::string_view name) {
  const auto same = [](char a, char b) { return Lower(a) == Lower(b); };
  for (int i = 0; i < kNumDTypes; ++i) {
    if (std::ranges::equal(kInfos[i].name, name, same)) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) text += (axis > 0 ? ", " : "") + std::to_string(dims_[axis]);
  return text + "]";
}

}  // namespace quern
