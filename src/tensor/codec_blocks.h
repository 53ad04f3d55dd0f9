// Internal to tensor/codec: what the families of formats share, and the functions each family gives to the table in
// codec.cc. A row function works on whole blocks; `values` and `out` have a multiple of the block size.
//
// Block fields are little-endian and not aligned, so they are read and written by memcpy.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tensor/half.h"

namespace quern::codec {

static_assert(std::endian::native == std::endian::little, "block fields are copied as they lie in memory");

using Floats = std::span<const float>;
// weights is empty or as long as values; finite, not negative.
using DecodeRowFn = void (*)(const uint8_t* blocks, std::span<float> out);
using EncodeRowFn = void (*)(Floats values, Floats weights, uint8_t* blocks);

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}
template <typename T>
void Store(uint8_t* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(value));
}
inline float LoadHalf(const uint8_t* bytes) { return HalfToFloat(Load<uint16_t>(bytes)); }

// Calls body(block, out of this block) for each block of a row.
template <int kElems, int kBytes, typename Body>
void DecodeEach(const uint8_t* blocks, std::span<float> out, Body body) {
  for (size_t done = 0; done < out.size(); done += kElems, blocks += kBytes) body(blocks, out.data() + done);
}

// Calls body(values of this block, weights of this block or empty, block) for each block of a row.
template <int kElems, int kBytes, typename Body>
void EncodeEach(Floats values, Floats weights, uint8_t* blocks, Body body) {
  for (size_t done = 0; done < values.size(); done += kElems, blocks += kBytes) {
    body(values.subspan(done, kElems), weights.empty() ? weights : weights.subspan(done, kElems), blocks);
  }
}

// Element i of 32 in the formats that keep two codes per byte: low nibbles are 0 to 15, high nibbles 16 to 31.
inline int Nibble(const uint8_t* qs, int i) { return (qs[i % 16] >> (4 * (i / 16))) & 15; }

inline void PackNibbles(const uint8_t* codes, uint8_t* qs) {
  for (int i = 0; i < 16; ++i) qs[i] = static_cast<uint8_t>(codes[i] | codes[i + 16] << 4);
}

// Rounds half to even and clamps. Adding 1.5 * 2^23 leaves the integer in the low mantissa bits, which is several
// times faster than a library call. Not-a-number gives the lower bound.
inline int RoundClamped(float value, int low, int high) {
  const float floor = static_cast<float>(low), ceiling = static_cast<float>(high);
  const float clamped = value > floor ? (value < ceiling ? value : ceiling) : floor;
  return static_cast<int>(std::bit_cast<uint32_t>(clamped + 0x1.8p23f) & 0x7FFFFFu) - 0x400000;
}

// 1 / step, or 0 where that would overflow: a block that small decodes to zero whatever its codes are.
inline float InverseOrZero(float step) {
  const float inverse = 1.0f / step;
  return std::isfinite(inverse) ? inverse : 0.0f;
}

// The 16 values of IQ4_NL and IQ4_XS.
inline constexpr std::array<int8_t, 16> kIq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};

void DecodeQ4_0(const uint8_t* blocks, std::span<float> out);
void DecodeQ4_1(const uint8_t* blocks, std::span<float> out);
void DecodeQ5_0(const uint8_t* blocks, std::span<float> out);
void DecodeQ5_1(const uint8_t* blocks, std::span<float> out);
void DecodeQ8_0(const uint8_t* blocks, std::span<float> out);
void DecodeQ2K(const uint8_t* blocks, std::span<float> out);
void DecodeQ3K(const uint8_t* blocks, std::span<float> out);
void DecodeQ4K(const uint8_t* blocks, std::span<float> out);
void DecodeQ5K(const uint8_t* blocks, std::span<float> out);
void DecodeQ6K(const uint8_t* blocks, std::span<float> out);
void DecodeIq4Nl(const uint8_t* blocks, std::span<float> out);
void DecodeIq4Xs(const uint8_t* blocks, std::span<float> out);
void DecodeMxfp4(const uint8_t* blocks, std::span<float> out);

void EncodeQ4_0(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ4_1(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ5_0(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ5_1(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ8_0(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ2K(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ3K(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ4K(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ5K(Floats values, Floats weights, uint8_t* blocks);
void EncodeQ6K(Floats values, Floats weights, uint8_t* blocks);
void EncodeIq4Nl(Floats values, Floats weights, uint8_t* blocks);
void EncodeIq4Xs(Floats values, Floats weights, uint8_t* blocks);
void EncodeMxfp4(Floats values, Floats weights, uint8_t* blocks);

}  // namespace quern::codec
