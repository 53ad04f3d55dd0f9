// IQ4_NL and IQ4_XS: 4-bit codes into a table of 16 uneven values (kIq4Values), denser around zero as weights are.
#include "tensor/codec_super_fit.h"

namespace quern::codec {
namespace {

constexpr int kElems = 32;
constexpr int kSubs = 8;

float TableValue(int code) { return kIq4Values[static_cast<size_t>(code)]; }

}  // namespace

// d @0, qs[16] @2.
void DecodeIq4Nl(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 18>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block);
    for (int i = 0; i < kElems; ++i) y[i] = d * TableValue(Nibble(block + 2, i));
  });
}

void EncodeIq4Nl(Floats values, Floats weights, uint8_t* blocks) {
  const float energy = weights.empty() ? 0.0f : MeanSquare(values);
  EncodeEach<kElems, 18>(values, weights, blocks, [energy](Floats x, Floats importance, uint8_t* block) {
    std::array<float, kElems> w;
    if (importance.empty()) {
      ScaleWeights(x, w);
    } else {
      ImportanceWeights(x, importance, energy, w);
    }
    const uint16_t half = FloatToHalf(FitScale<Iq4Grid>(x, w));
    const float d = HalfToFloat(half);
    std::array<uint8_t, kElems> codes;
    for (int i = 0; i < kElems; ++i) codes[i] = static_cast<uint8_t>(Iq4Grid::Nearest(d != 0.0f ? x[i] / d : 0.0f));
    Store(block, half);
    PackNibbles(codes.data(), block + 2);
  });
}

// d @0, scales_h @2, scales_l[4] @4, qs[128] @8: sub-block j of 32 has a signed 6-bit scale, stored with 32 added, low
// four bits in a nibble of scales_l, high two in scales_h.
void DecodeIq4Xs(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kSuperElems, 136>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block);
    const unsigned scales_high = Load<uint16_t>(block + 2);
    for (int j = 0; j < kSubs; ++j) {
      const int low = (block[4 + j / 2] >> (4 * (j % 2))) & 15;
      const int high = static_cast<int>((scales_high >> (2 * j)) & 3u);
      const float step = d * static_cast<float>((low | high << 4) - 32);
      for (int i = 0; i < 32; ++i) y[32 * j + i] = step * TableValue(Nibble(block + 8 + 16 * j, i));
    }
  });
}

void EncodeIq4Xs(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 136>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kScale, kSubs>(x, importance);
    const SignedSuper<kSubs> super = SignedSuperFit<Iq4Grid, kSubs, 32>(x, w).Run();
    std::memset(block, 0, 8);
    unsigned scales_high = 0;
    for (int j = 0; j < kSubs; ++j) {
      const int biased = super.scale[j] + 32;
      block[4 + j / 2] = static_cast<uint8_t>(block[4 + j / 2] | (biased & 15) << (4 * (j % 2)));
      scales_high |= static_cast<unsigned>(biased >> 4) << (2 * j);
      PackNibbles(super.code.data() + 32 * j, block + 8 + 16 * j);
    }
    Store(block, super.d);
    Store(block + 2, static_cast<uint16_t>(scales_high));
  });
}

}  // namespace quern::codec
