// Decoding of the K-quants: super-blocks of 256 values, whose sub-blocks of 16 or 32 have integer scales under one or
// two binary16 scales. In all of them the 2- and 4-bit codes are strided: a byte holds values 32 or 64 apart.
#include "tensor/codec_blocks.h"
#include "tensor/codec_k_scales.h"

namespace quern::codec {
namespace {

constexpr int kElems = 256;

// Element i of 256 in a plane of 2-bit codes, 64 bytes: four values that are 32 apart share a byte.
int TwoBits(const uint8_t* qs, int i) { return (qs[32 * (i / 128) + i % 32] >> (2 * ((i / 32) % 4))) & 3; }

// Element i of 256 in the 4-bit plane of Q4_K and Q5_K: two values that are 32 apart share a byte.
int FourBits(const uint8_t* qs, int i) { return (qs[32 * (i / 64) + i % 32] >> (4 * ((i / 32) % 2))) & 15; }

// Element i of 256 in a plane of single bits, 32 bytes: eight values that are 32 apart share a byte.
int OneBit(const uint8_t* qh, int i) { return (qh[i % 32] >> (i / 32)) & 1; }

}  // namespace

// scales[16] @0 (low nibble scale, high nibble min), qs[64] @16, d @80, dmin @82.
void DecodeQ2K(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 84>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block + 80), dmin = LoadHalf(block + 82);
    for (int j = 0; j < 16; ++j) {
      const float step = d * static_cast<float>(block[j] & 15);
      const float min = dmin * static_cast<float>(block[j] >> 4);
      for (int i = 16 * j; i < 16 * j + 16; ++i) y[i] = step * static_cast<float>(TwoBits(block + 16, i)) - min;
    }
  });
}

// hmask[32] @0, qs[64] @32, scales[12] @96, d @108. A mask bit that is clear subtracts 4.
void DecodeQ3K(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 110>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block + 108);
    for (int j = 0; j < 16; ++j) {
      const float step = d * static_cast<float>(UnpackSignedScale(block + 96, j));
      for (int i = 16 * j; i < 16 * j + 16; ++i) {
        y[i] = step * static_cast<float>(TwoBits(block + 32, i) - (OneBit(block, i) != 0 ? 0 : 4));
      }
    }
  });
}

// d @0, dmin @2, scales[12] @4, qs[128] @16.
void DecodeQ4K(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 144>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block), dmin = LoadHalf(block + 2);
    for (int j = 0; j < 8; ++j) {
      const float step = d * static_cast<float>(UnpackScale(block + 4, j));
      const float min = dmin * static_cast<float>(UnpackMin(block + 4, j));
      for (int i = 32 * j; i < 32 * j + 32; ++i) y[i] = step * static_cast<float>(FourBits(block + 16, i)) - min;
    }
  });
}

// d @0, dmin @2, scales[12] @4, qh[32] @16, qs[128] @48.
void DecodeQ5K(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 176>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block), dmin = LoadHalf(block + 2);
    for (int j = 0; j < 8; ++j) {
      const float step = d * static_cast<float>(UnpackScale(block + 4, j));
      const float min = dmin * static_cast<float>(UnpackMin(block + 4, j));
      for (int i = 32 * j; i < 32 * j + 32; ++i) {
        y[i] = step * static_cast<float>(FourBits(block + 48, i) | OneBit(block + 16, i) << 4) - min;
      }
    }
  });
}

// ql[128] @0, qh[64] @128, signed scales[16] @192, d @208. The low planes hold values 64 apart, unlike Q4_K.
void DecodeQ6K(const uint8_t* blocks, std::span<float> out) {
  DecodeEach<kElems, 210>(blocks, out, [](const uint8_t* block, float* y) {
    const float d = LoadHalf(block + 208);
    for (int i = 0; i < kElems; ++i) {
      const int half = i / 128, r = i % 128;
      const int low = (block[64 * half + r % 64] >> (4 * (r / 64))) & 15;
      const int high = TwoBits(block + 128, i);
      const float step = d * static_cast<float>(static_cast<int8_t>(block[192 + i / 16]));
      y[i] = step * static_cast<float>((low | high << 4) - 32);
    }
  });
}

}  // namespace quern::codec
