// Encoding of the K-quants: codec_super_fit.h chooses the numbers, here they are put into the layouts that
// codec_k_decode.cc reads.
#include "tensor/codec_k_scales.h"
#include "tensor/codec_super_fit.h"

namespace quern::codec {
namespace {

using Codes = std::array<uint8_t, kSuperElems>;

// The inverse of the planes in codec_k_decode.cc. The bytes must start as zero.
void PutTwoBits(uint8_t* qs, int i, int bits) {
  uint8_t& byte = qs[32 * (i / 128) + i % 32];
  byte = static_cast<uint8_t>(byte | bits << (2 * ((i / 32) % 4)));
}
void PutFourBits(uint8_t* qs, int i, int bits) {
  uint8_t& byte = qs[32 * (i / 64) + i % 32];
  byte = static_cast<uint8_t>(byte | bits << (4 * ((i / 32) % 2)));
}
void PutOneBit(uint8_t* qh, int i, int bit) { qh[i % 32] = static_cast<uint8_t>(qh[i % 32] | bit << (i / 32)); }

}  // namespace

void EncodeQ2K(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 84>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kAffine, 16>(x, importance);
    const AffineSuper<16> super = AffineSuperFit<16, 3, 15>(x, w).Run();
    std::memset(block, 0, 84);
    for (int j = 0; j < 16; ++j) block[j] = static_cast<uint8_t>(super.scale[j] | super.min[j] << 4);
    for (int i = 0; i < kSuperElems; ++i) PutTwoBits(block + 16, i, super.code[i]);
    Store(block + 80, super.d);
    Store(block + 82, super.dmin);
  });
}

void EncodeQ3K(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 110>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kScale, 16>(x, importance);
    const SignedSuper<16> super = SignedSuperFit<UniformGrid<4>, 16, 32>(x, w).Run();
    std::memset(block, 0, 110);
    for (int i = 0; i < kSuperElems; ++i) {
      PutOneBit(block, i, super.code[i] >> 2);
      PutTwoBits(block + 32, i, super.code[i] & 3);
    }
    PackSignedScales(super.scale.data(), block + 96);
    Store(block + 108, super.d);
  });
}

void EncodeQ4K(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 144>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kAffine, 8>(x, importance);
    const AffineSuper<8> super = AffineSuperFit<8, 15, 63>(x, w).Run();
    std::memset(block, 0, 144);
    Store(block, super.d);
    Store(block + 2, super.dmin);
    PackScalesAndMins(super.scale.data(), super.min.data(), block + 4);
    for (int i = 0; i < kSuperElems; ++i) PutFourBits(block + 16, i, super.code[i]);
  });
}

void EncodeQ5K(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 176>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kAffine, 8>(x, importance);
    const AffineSuper<8> super = AffineSuperFit<8, 31, 63>(x, w).Run();
    std::memset(block, 0, 176);
    Store(block, super.d);
    Store(block + 2, super.dmin);
    PackScalesAndMins(super.scale.data(), super.min.data(), block + 4);
    for (int i = 0; i < kSuperElems; ++i) {
      PutOneBit(block + 16, i, super.code[i] >> 4);
      PutFourBits(block + 48, i, super.code[i] & 15);
    }
  });
}

void EncodeQ6K(Floats values, Floats weights, uint8_t* blocks) {
  EncodeEach<kSuperElems, 210>(values, weights, blocks, [](Floats x, Floats importance, uint8_t* block) {
    const auto w = SuperWeights<WeightRule::kScale, 16>(x, importance);
    const SignedSuper<16> super = SignedSuperFit<UniformGrid<32>, 16, 128>(x, w).Run();
    std::memset(block, 0, 210);
    for (int i = 0; i < kSuperElems; ++i) {
      const int half = i / 128, r = i % 128;
      uint8_t& low = block[64 * half + r % 64];
      low = static_cast<uint8_t>(low | (super.code[i] & 15) << (4 * (r / 64)));
      PutTwoBits(block + 128, i, super.code[i] >> 4);
    }
    std::memcpy(block + 192, super.scale.data(), 16);
    Store(block + 208, super.d);
  });
}

}  // namespace quern::codec
