// MXFP4: 32 values of 4-bit floats (E2M1) under one power of two (E8M0), the OCP microscaling format.
// e @0, qs[16] @1.
#include "tensor/codec_blocks.h"

namespace quern::codec {
namespace {

constexpr int kElems = 32;
constexpr int kBytes = 17;

// Twice the E2M1 values, so that they are integers; the scale is halved in exchange.
constexpr std::array<int8_t, 16> kDoubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128). The two smallest are subnormal in binary32, so they are written as bits: no flush to zero on any path.
float HalfScale(uint8_t e) {
  if (e < 2) return std::bit_cast<float>(uint32_t{0x00200000} << e);
  return std::bit_cast<float>(static_cast<uint32_t>(e - 1) << 23);
}

// The first code of smallest distance: on a tie the smaller magnitude, and zero is never negative.
uint8_t NearestCode(float x, float scale) {
  int best = 0;
  float best_distance = std::fabs(x);
  for (int code = 1; code < 16; ++code) {
    const float distance = std::fabs(scale * static_cast<float>(kDoubled[static_cast<size_t>(code)]) - x);
    if (distance < best_distance) {
      best = code;
      best_distance = distance;
    }
  }
  return static_cast<uint8_t>(best);
}

}  // namespace

void DecodeMxfp4(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, kBytes>(blocks, out, [](const uint8_t* block, float* y) {
    const float scale = HalfScale(block[0]);
    for (int i = 0; i < kElems; ++i) {
      y[i] = scale * static_cast<float>(kDoubled[static_cast<size_t>(Nibble(block + 1, i))]);
    }
  });
}

// The exponent puts the largest magnitude in the topmost binade of E2M1 (4 and 6); above 6 it is cut off. There is no
// finer scale to search for, so importances are not used.
void EncodeMxfp4(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kElems, kBytes>(values, weights, blocks, [](Floats x, Floats, uint8_t* block) {
    float largest = 0.0f;
    for (const float value : x) largest = std::fmax(largest, std::fabs(value));
    const int exponent = largest > 0.0f ? std::max(std::ilogb(largest) - 2 + 127, 0) : 0;
    block[0] = static_cast<uint8_t>(exponent);
    const float scale = HalfScale(block[0]);
    std::array<uint8_t, kElems> codes;
    for (int i = 0; i < kElems; ++i) codes[i] = NearestCode(x[i], scale);
    PackNibbles(codes.data(), block + 1);
  });
}

}  // namespace quern::codec
