// Internal to tensor/codec: the packed 6-bit scales of Q3_K, Q4_K and Q5_K, 12 bytes each.
#pragma once

#include <cstdint>
#include <cstring>

namespace quern::codec {

// Q4_K and Q5_K, sub-block j of 8. The low 6 bits of bytes 0..3 and 4..7 are the scales and mins of sub-blocks 0..3;
// sub-blocks 4..7 have their low 4 bits in bytes 8..11 and their high 2 bits on top of bytes 0..7.
inline int UnpackScale(const uint8_t* packed, int j) {
  return j < 4 ? packed[j] & 63 : (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
}
inline int UnpackMin(const uint8_t* packed, int j) {
  return j < 4 ? packed[j + 4] & 63 : (packed[j + 4] >> 4) | (packed[j] >> 6) << 4;
}
inline void PackScalesAndMins(const uint8_t* scales, const uint8_t* mins, uint8_t* packed) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(scales[j] | (scales[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(mins[j] | (mins[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | (mins[j + 4] & 15) << 4);
  }
}

// Q3_K, group g of 16: signed, -32..31, stored with 32 added. Low 4 bits in bytes 0..7 (groups 8..15 in the high
// nibbles), high 2 bits in bytes 8..11, four groups to a byte with stride 4.
inline int UnpackSignedScale(const uint8_t* packed, int g) {
  const int low = g < 8 ? packed[g] & 15 : packed[g - 8] >> 4;
  const int high = (packed[8 + g % 4] >> (2 * (g / 4))) & 3;
  return (low | high << 4) - 32;
}
inline void PackSignedScales(const int8_t* scales, uint8_t* packed) {
  std::memset(packed, 0, 12);
  for (int g = 0; g < 16; ++g) {
    const int biased = scales[g] + 32;
    packed[g % 8] = static_cast<uint8_t>(packed[g % 8] | (biased & 15) << (g < 8 ? 0 : 4));
    packed[8 + g % 4] = static_cast<uint8_t>(packed[8 + g % 4] | (biased >> 4) << (2 * (g / 4)));
  }
}

}  // namespace quern::codec
