#include "kernels/descriptor/catalogue.h"

#include <span>

#include "tensor/code_form.h"

namespace quern::kernels {
namespace {

constexpr DType kQuantFormats[] = {DType::kQ4_0,   DType::kQ4_1,   DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                   DType::kQ2_K,   DType::kQ3_K,   DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                                   DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};

// Measured on an H200 (docs/kernels.md): panels per warp and a short ring for the head; fewer chains per warp as N
// shrinks, since fewer panels must occupy the machine; a long ring where K is long.
constexpr Schedule kRp16Schedules[] = {
    {.mma = Mma::kM16N8K32, .warps = 8, .rows_per_warp = 1, .split = 8, .unroll = 1, .stages = 2, .min_blocks = 4},
    {.mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 2, .split = 1, .unroll = 1, .stages = 3, .min_blocks = 4},
    {.mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 1, .split = 1, .unroll = 1, .stages = 3, .min_blocks = 4},
    {.mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 1, .split = 2, .unroll = 1, .stages = 4, .min_blocks = 4},
    {.mma = Mma::kM16N8K32, .warps = 4, .rows_per_warp = 1, .split = 4, .unroll = 1, .stages = 4, .min_blocks = 4},
    {.mma = Mma::kM16N8K32, .warps = 8, .rows_per_warp = 1, .split = 8, .unroll = 2, .stages = 4, .min_blocks = 2},
    {.mma = Mma::kM16N8K32, .warps = 8, .rows_per_warp = 1, .split = 8, .unroll = 4, .stages = 3, .min_blocks = 2},
};

}  // namespace

std::string CatalogueEntry::file() const {
  std::string name(NameOf(descriptor.family));
  if (descriptor.weights.empty()) return name;
  name += '_';
  for (const char c : quern::NameOf(descriptor.weights[0].format))
    name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

Descriptor Rp16MatmulDescriptor(DType format, uint32_t k_multiple) {
  return {.family = Family::kMatmul,
          .weights = {{format, Layout::kRp16}},
          .in = Encoding::kQa8,
          .out = Encoding::kF32,
          .dims = {{"K", k_multiple, 65536, k_multiple}, {"N", 1, 1u << 22, 1}, {"R", 1, 1u << 16, 1}},
          .epilogue = {Epilogue::kStore},
          .numerics = NumericsClass::kDotI8};
}

Descriptor QuantizeRowsDescriptor() {
  return {.family = Family::kQuantizeRows,
          .in = Encoding::kF32,
          .out = Encoding::kQa8,
          .dims = {{"K", 32, 65536, 32}, {"R", 1, 1u << 16, 1}},
          .epilogue = {Epilogue::kStore},
          .numerics = NumericsClass::kElementwise};
}

std::vector<CatalogueEntry> Catalogue() {
  std::vector<CatalogueEntry> entries;
  // Texts are checked in, so the formats that files rarely have get a small, a wide and a long schedule only.
  constexpr int kFew[] = {0, 2, 6}, kAll[] = {0, 1, 2, 3, 4, 5, 6};
  for (const DType format : kQuantFormats) {
    const bool common =
        format == DType::kQ4_0 || format == DType::kQ8_0 || format == DType::kQ4_K || format == DType::kQ6_K;
    for (const int i : common ? std::span<const int>(kAll) : std::span<const int>(kFew)) {
      entries.push_back({Rp16MatmulDescriptor(format, 256), kRp16Schedules[i]});
    }
    // K that ends inside a group of eight blocks: code for the tail costs registers, so it has kernels of its own.
    if (CodeFormOf(format).scale == ScaleKind::kHalfPerSuperblock) continue;
    constexpr int kRaggedAll[] = {0, 2, 4};
    for (const int i : std::span<const int>(kRaggedAll).first(common ? 3 : 1))
      entries.push_back({Rp16MatmulDescriptor(format, 32), kRp16Schedules[i]});
  }
  entries.push_back({QuantizeRowsDescriptor(), {.warps = 4}});
  return entries;
}

}  // namespace quern::kernels
