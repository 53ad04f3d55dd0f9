// For tests: random rows in every file format, and an independent reading of them, element by element, straight from
// the closed forms of docs/formats/quant.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ops/cpu/packed_matrix.h"
#include "tensor/half.h"
#include "tensor/tensor_view.h"

namespace quern::ops::cpu::testing {

inline constexpr DType kQuantized[] = {DType::kQ4_0,   DType::kQ4_1,   DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                                       DType::kQ2_K,   DType::kQ3_K,   DType::kQ4_K, DType::kQ5_K, DType::kQ6_K,
                                       DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4};
inline constexpr DType kPlain[] = {DType::kF32, DType::kF16, DType::kBF16};

// 32 consecutive values of a row: value e is d * c[e] + m * n[e / 16]. Plain floats: c holds the value, d is 1.
struct Block32 {
  double c[32];
  int n[2] = {0, 0};
  float d = 0, m = 0;
};

inline float ReadHalf(const uint8_t* p) { return HalfToFloat(static_cast<uint16_t>(p[0] | p[1] << 8)); }

// `at` is a multiple of 32.
inline Block32 ReadBlock(DType type, const std::byte* row_bytes, int64_t at) {
  constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  constexpr int kE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const DTypeInfo& info = InfoOf(type);
  const uint8_t* B = reinterpret_cast<const uint8_t*>(row_bytes) + at / info.block_elems * info.block_bytes;
  Block32 out;
  for (int e = 0; e < 32; ++e) {
    const int i = static_cast<int>((at + e) % info.block_elems);  // index inside the file's block
    const auto nibble = [&](int offset) { return (B[offset + i % 16] >> (4 * (i / 16))) & 15; };
    switch (type) {
      case DType::kF32:
        out.d = 1;
        out.c[e] = std::bit_cast<float>(B[4 * e] | B[4 * e + 1] << 8 | B[4 * e + 2] << 16 |
                                        static_cast<uint32_t>(B[4 * e + 3]) << 24);
        break;
      case DType::kF16:
        out.d = 1;
        out.c[e] = ReadHalf(B + 2 * e);
        break;
      case DType::kBF16:
        out.d = 1;
        out.c[e] = Bf16ToFloat(static_cast<uint16_t>(B[2 * e] | B[2 * e + 1] << 8));
        break;
      case DType::kQ4_0:
        out.d = ReadHalf(B);
        out.c[e] = nibble(2) - 8;
        break;
      case DType::kQ4_1:
        out.d = ReadHalf(B);
        out.m = ReadHalf(B + 2);
        out.n[0] = out.n[1] = 1;
        out.c[e] = nibble(4);
        break;
      case DType::kQ5_0:
        out.d = ReadHalf(B);
        out.c[e] = (nibble(6) | ((B[2 + i / 8] >> (i % 8)) & 1) << 4) - 16;
        break;
      case DType::kQ5_1:
        out.d = ReadHalf(B);
        out.m = ReadHalf(B + 2);
        out.n[0] = out.n[1] = 1;
        out.c[e] = nibble(8) | ((B[4 + i / 8] >> (i % 8)) & 1) << 4;
        break;
      case DType::kQ8_0:
        out.d = ReadHalf(B);
        out.c[e] = static_cast<int8_t>(B[2 + i]);
        break;
      case DType::kQ2_K: {
        const int sc = B[i / 16];
        out.d = ReadHalf(B + 80);
        out.m = -ReadHalf(B + 82);
        out.n[e / 16] = sc >> 4;
        out.c[e] = (sc & 15) * ((B[16 + 32 * (i / 128) + i % 32] >> (2 * ((i / 32) % 4))) & 3);
        break;
      }
      case DType::kQ3_K: {
        const int g = i / 16;
        const uint8_t* S = B + 96;
        const int lo = g < 8 ? S[g] & 15 : S[g - 8] >> 4, hi = (S[8 + g % 4] >> (2 * (g / 4))) & 3;
        const int q = (B[32 + 32 * (i / 128) + i % 32] >> (2 * ((i / 32) % 4))) & 3;
        const int bit = (B[i % 32] >> (i / 32)) & 1;
        out.d = ReadHalf(B + 108);
        out.c[e] = ((lo | hi << 4) - 32) * (q - (bit ? 0 : 4));
        break;
      }
      case DType::kQ4_K:
      case DType::kQ5_K: {
        const int j = i / 32;
        const uint8_t* S = B + 4;
        const int sc = j < 4 ? S[j] & 63 : (S[j + 4] & 15) | (S[j - 4] >> 6) << 4;
        const int mn = j < 4 ? S[j + 4] & 63 : (S[j + 4] >> 4) | (S[j] >> 6) << 4;
        const int base = type == DType::kQ4_K ? 16 : 48;
        int q = (B[base + 32 * (i / 64) + i % 32] >> (4 * ((i / 32) % 2))) & 15;
        if (type == DType::kQ5_K) q |= ((B[16 + i % 32] >> (i / 32)) & 1) << 4;
        out.d = ReadHalf(B);
        out.m = -ReadHalf(B + 2);
        out.n[0] = out.n[1] = mn;
        out.c[e] = sc * q;
        break;
      }
      case DType::kQ6_K: {
        const int n = i / 128, r = i % 128;
        const int lo = (B[64 * n + r % 64] >> (4 * (r / 64))) & 15,
                  hi = (B[128 + 32 * n + r % 32] >> (2 * (r / 32))) & 3;
        out.d = ReadHalf(B + 208);
        out.c[e] = static_cast<int8_t>(B[192 + i / 16]) * ((lo | hi << 4) - 32);
        break;
      }
      case DType::kIQ4_NL:
        out.d = ReadHalf(B);
        out.c[e] = kIq4[nibble(2)];
        break;
      case DType::kIQ4_XS: {
        const int b = i / 32;
        const int ls = ((B[4 + b / 2] >> (4 * (b % 2))) & 15) | (((B[2] | B[3] << 8) >> (2 * b)) & 3) << 4;
        out.d = ReadHalf(B);
        out.c[e] = (ls - 32) * kIq4[(B[8 + 16 * b + i % 16] >> (4 * ((i % 32) / 16))) & 15];
        break;
      }
      case DType::kMXFP4:
        out.d = static_cast<float>(std::ldexp(1.0, B[0] - 128));
        out.c[e] = kE2m1[nibble(1)];
        break;
      default:
        break;
    }
  }
  return out;
}

// A matrix of file bytes: random codes, moderate random scales (of both signs) where the format keeps f16.
class FileMatrix {
 public:
  FileMatrix(DType type, int64_t rows, int64_t cols, uint32_t seed) : rng_(seed) {
    view_.dtype = type;
    view_.shape = {rows, cols};
    bytes_.resize(static_cast<size_t>(view_.num_bytes()));
    view_.data = bytes_.data();
    if (!InfoOf(type).is_quantized) {
      for (int64_t i = 0; i < rows * cols; ++i) PutFloat(type, i);
      return;
    }
    for (std::byte& b : bytes_) b = static_cast<std::byte>(rng_());
    const int stride = InfoOf(type).block_bytes;
    for (size_t at = 0; at < bytes_.size(); at += stride) PutScales(type, at);
  }

  const TensorView& view() const { return view_; }
  std::byte* row(int64_t index) { return bytes_.data() + index * view_.row_bytes(); }
  // Offset of the first f16 scale of a block of the format; MXFP4 has none.
  static int ScaleAt(DType type) {
    return type == DType::kQ2_K ? 80 : type == DType::kQ3_K ? 108 : type == DType::kQ6_K ? 208 : 0;
  }
  void PutHalf(size_t at, float value) {
    const uint16_t bits = FloatToHalf(value);
    std::memcpy(bytes_.data() + at, &bits, 2);
  }

 private:
  float Uniform() { return std::uniform_real_distribution<float>(-1, 1)(rng_); }

  void PutFloat(DType type, int64_t i) {
    const float value = Uniform();
    if (type == DType::kF32) {
      std::memcpy(bytes_.data() + 4 * i, &value, 4);
    } else {
      const uint16_t bits = type == DType::kF16 ? FloatToHalf(value) : FloatToBf16(value);
      std::memcpy(bytes_.data() + 2 * i, &bits, 2);
    }
  }

  void PutScales(DType type, size_t at) {
    if (type == DType::kMXFP4) {
      bytes_[at] = static_cast<std::byte>(120 + rng_() % 10);
      return;
    }
    PutHalf(at + ScaleAt(type), 0.05f * Uniform());
    const bool has_min = type == DType::kQ4_1 || type == DType::kQ5_1 || type == DType::kQ2_K || type == DType::kQ4_K ||
                         type == DType::kQ5_K;
    if (has_min) PutHalf(at + ScaleAt(type) + 2, 0.05f * Uniform());
  }

  std::mt19937 rng_;
  std::vector<std::byte> bytes_;
  TensorView view_;
};

inline std::vector<float> RandomFloats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(rng);
  return values;
}

// Bitwise equality in which any NaN equals any NaN (x86 and others disagree on the bits of a new NaN).
inline bool SameBits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

}  // namespace quern::ops::cpu::testing
