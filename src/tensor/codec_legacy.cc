// Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0: 32 values with one scale, and a minimum in the formats ending in _1.
//
// Without importances the encoders follow ggml's reference rounding exactly: codes are made with the unrounded
// reciprocal of the scale; only the stored scale is rounded to binary16.
#include "tensor/codec_fit.h"

namespace quern::codec {
namespace {

constexpr int kElems = 32;
using Codes = std::array<uint8_t, kElems>;

// Bit i of the little-endian word is the fifth bit of code i.
int FifthBit(uint32_t high_bits, int i) { return static_cast<int>((high_bits >> i) & 1u) << 4; }

void PackFiveBits(const Codes& codes, uint8_t* qh, uint8_t* qs) {
  uint32_t high_bits = 0;
  Codes low;
  for (int i = 0; i < kElems; ++i) {
    high_bits |= static_cast<uint32_t>(codes[i] >> 4) << i;
    low[i] = codes[i] & 15;
  }
  Store(qh, high_bits);
  PackNibbles(low.data(), qs);
}

// The first element of largest magnitude becomes code 0, so the scale takes the opposite sign of it.
template <int kHalf>
uint16_t EncodeSymmetric(Floats x, Codes& codes) {
  const float d = SignedExtreme(x) / -kHalf;
  const float inverse = d != 0.0f ? InverseOrZero(d) : 0.0f;
  for (int i = 0; i < kElems; ++i) {
    const int code = static_cast<int>(x[i] * inverse + (kHalf + 0.5f));
    codes[i] = static_cast<uint8_t>(std::clamp(code, 0, 2 * kHalf - 1));
  }
  return FloatToHalf(d);
}

template <int kHalf>
uint16_t EncodeSymmetricWeighted(Floats x, Floats importance, float energy, Codes& codes) {
  std::array<float, kElems> w;
  ImportanceWeights(x, importance, energy, w);
  const uint16_t half = SaturatedHalf(FitScale<UniformGrid<kHalf>>(x, w));
  const float d = HalfToFloat(half);
  const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
  for (int i = 0; i < kElems; ++i) {
    codes[i] = static_cast<uint8_t>(UniformGrid<kHalf>::Nearest(x[i] * inverse));
  }
  return half;
}

struct ScaleAndMin {
  uint16_t d, m;
};

ScaleAndMin EncodeAffine(Floats x, int max_code, Codes& codes) {
  const auto [low, high] = std::ranges::minmax(x);
  const float d = (high - low) / static_cast<float>(max_code);
  const float inverse = d != 0.0f ? InverseOrZero(d) : 0.0f;
  for (int i = 0; i < kElems; ++i) {
    codes[i] = static_cast<uint8_t>(std::min(static_cast<int>((x[i] - low) * inverse + 0.5f), max_code));
  }
  return {FloatToHalf(d), FloatToHalf(low)};
}

ScaleAndMin EncodeAffineWeighted(Floats x, Floats importance, float energy, int max_code, Codes& codes) {
  std::array<float, kElems> w;
  ImportanceWeights(x, importance, energy, w);
  const AffineFit fit = FitAffine(x, w, max_code, OffsetSign::kAny);
  const ScaleAndMin stored = {SaturatedHalf(fit.scale), SaturatedHalf(fit.offset)};
  const float d = HalfToFloat(stored.d), m = HalfToFloat(stored.m);
  const float inverse = d != 0.0f ? 1.0f / d : 0.0f;
  for (int i = 0; i < kElems; ++i) codes[i] = static_cast<uint8_t>(RoundClamped((x[i] - m) * inverse, 0, max_code));
  return stored;
}

template <int kHalf>
auto SymmetricEncoder(Floats row, Floats row_weights) {
  return [energy = row_weights.empty() ? 0.0f : MeanSquare(row)](Floats x, Floats weights, Codes& codes) {
    return weights.empty() ? EncodeSymmetric<kHalf>(x, codes)
                           : EncodeSymmetricWeighted<kHalf>(x, weights, energy, codes);
  };
}

auto AffineEncoder(Floats row, Floats row_weights, int max_code) {
  return [=, energy = row_weights.empty() ? 0.0f : MeanSquare(row)](Floats x, Floats weights, Codes& codes) {
    return weights.empty() ? EncodeAffine(x, max_code, codes)
                           : EncodeAffineWeighted(x, weights, energy, max_code, codes);
  };
}

}  // namespace

// d @0, qs[16] @2.
void DecodeQ4_0(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 18>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block);
    for (int i = 0; i < kElems; ++i) y[i] = d * static_cast<float>(Nibble(block + 2, i) - 8);
  });
}

void EncodeQ4_0(Floats values, Floats weights, uint8_t* blocks) {
  const auto encode = SymmetricEncoder<8>(values, weights);
  EncodeEach<kElems, 18>(values, weights, blocks, [&](Floats x, Floats w, uint8_t* block) {
    Codes codes;
    Store(block, encode(x, w, codes));
    PackNibbles(codes.data(), block + 2);
  });
}

// d @0, m @2, qs[16] @4.
void DecodeQ4_1(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 20>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block), m = LoadHalf(block + 2);
    for (int i = 0; i < kElems; ++i) y[i] = d * static_cast<float>(Nibble(block + 4, i)) + m;
  });
}

void EncodeQ4_1(Floats values, Floats weights, uint8_t* blocks) {
  const auto encode = AffineEncoder(values, weights, 15);
  EncodeEach<kElems, 20>(values, weights, blocks, [&](Floats x, Floats w, uint8_t* block) {
    Codes codes;
    const auto [d, m] = encode(x, w, codes);
    Store(block, d);
    Store(block + 2, m);
    PackNibbles(codes.data(), block + 4);
  });
}

// d @0, qh[4] @2, qs[16] @6.
void DecodeQ5_0(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 22>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block);
    const uint32_t high_bits = Load<uint32_t>(block + 2);
    for (int i = 0; i < kElems; ++i) {
      y[i] = d * static_cast<float>((Nibble(block + 6, i) | FifthBit(high_bits, i)) - 16);
    }
  });
}

void EncodeQ5_0(Floats values, Floats weights, uint8_t* blocks) {
  const auto encode = SymmetricEncoder<16>(values, weights);
  EncodeEach<kElems, 22>(values, weights, blocks, [&](Floats x, Floats w, uint8_t* block) {
    Codes codes;
    Store(block, encode(x, w, codes));
    PackFiveBits(codes, block + 2, block + 6);
  });
}

// d @0, m @2, qh[4] @4, qs[16] @8.
void DecodeQ5_1(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 24>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block), m = LoadHalf(block + 2);
    const uint32_t high_bits = Load<uint32_t>(block + 4);
    for (int i = 0; i < kElems; ++i) {
      y[i] = d * static_cast<float>(Nibble(block + 8, i) | FifthBit(high_bits, i)) + m;
    }
  });
}

void EncodeQ5_1(Floats values, Floats weights, uint8_t* blocks) {
  const auto encode = AffineEncoder(values, weights, 31);
  EncodeEach<kElems, 24>(values, weights, blocks, [&](Floats x, Floats w, uint8_t* block) {
    Codes codes;
    const auto [d, m] = encode(x, w, codes);
    Store(block, d);
    Store(block + 2, m);
    PackFiveBits(codes, block + 4, block + 8);
  });
}

// d @0, signed qs[32] @2.
void DecodeQ8_0(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 34>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block);
    for (int i = 0; i < kElems; ++i) y[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
  });
}

// At 8 bits a weighted search gains nothing that can be measured, so importances are not used.
void EncodeQ8_0(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kElems, 34>(values, weights, blocks, [](Floats x, Floats, uint8_t* block) {
    const float d = std::fabs(SignedExtreme(x)) / 127.0f;
    const float inverse = d != 0.0f ? InverseOrZero(d) : 0.0f;
    Store(block, FloatToHalf(d));
    // std::round: half away from zero, as ggml does here and only here.
    for (int i = 0; i < kElems; ++i) block[2 + i] = static_cast<uint8_t>(static_cast<int>(std::round(x[i] * inverse)));
  });
}

}  // namespace quern::codec
