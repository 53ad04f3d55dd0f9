#include "make_model/random_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/check.h"
#include "tensor/codec.h"
#include "tensor/half.h"

namespace quern::tools {
namespace {

constexpr size_t kNumScales = 256;

void Put(uint16_t value, std::byte* to) { std::memcpy(to, &value, sizeof(value)); }

// The mean of the unsigned codes of a format with a minimum: minimum = that many scales.
double MeanCode(DType type) {
  switch (type) {
    case DType::kQ2_K:
      return 1.5;
    case DType::kQ4_1:
    case DType::kQ4_K:
      return 7.5;
    case DType::kQ5_1:
    case DType::kQ5_K:
      return 15.5;
    default:
      return 0;
  }
}

// The eight 6-bit scales of Q4_K and Q5_K with each minimum equal to its scale: 12 bytes.
void PackEqualScales(uint64_t random, std::byte* to) {
  uint8_t scales[8];
  for (int i = 0; i < 8; ++i) scales[i] = static_cast<uint8_t>(32 + (random >> (8 * i) & 31));
  for (int i = 0; i < 4; ++i) {
    const auto low = static_cast<std::byte>(scales[i] | (scales[i + 4] >> 4) << 6);
    to[i] = to[i + 4] = low;
    to[i + 8] = static_cast<std::byte>((scales[i + 4] & 15) * 17);
  }
}

}  // namespace

RandomBits::RandomBits(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    uint64_t z = seed;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    word = z ^ z >> 31;
  }
}

uint64_t RandomBits::Next() {
  const auto rotate = [](uint64_t x, int bits) { return x << bits | x >> (64 - bits); };
  const uint64_t result = rotate(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = rotate(state_[3], 45);
  return result;
}

double RandomBits::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double RandomBits::Normal() {
  return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
}

BlockFiller::BlockFiller(DType type, double stddev) : type_(type) {
  const DTypeInfo& info = InfoOf(type);
  QUERN_CHECK(info.is_float && type != DType::kF64 && stddev > 0);
  if (!info.is_quantized) {
    RandomBits random(1);
    std::vector<float> values(kTableSize);
    for (float& value : values) value = static_cast<float>(stddev * random.Normal());
    floats_.resize(kTableSize * static_cast<size_t>(info.block_bytes));
    QUERN_CHECK(EncodeRow(type, values, {}, floats_.data()).has_value());
    return;
  }
  // What scale 1 gives decides the scale: measured, so that no constant per format is needed.
  MakeScaleTables(1);
  constexpr int64_t kSampleBlocks = 4096;
  std::vector<std::byte> sample(static_cast<size_t>(kSampleBlocks * info.block_bytes));
  Fill(1, sample);
  std::vector<float> decoded(static_cast<size_t>(kSampleBlocks * info.block_elems));
  DecodeRow(type, sample.data(), decoded);
  double squares = 0;
  for (const float value : decoded) squares += static_cast<double>(value) * value;
  MakeScaleTables(stddev / std::sqrt(squares / static_cast<double>(decoded.size())));
}

void BlockFiller::MakeScaleTables(double unit) {
  scales_.resize(kNumScales);
  minima_.resize(kNumScales);
  for (size_t i = 0; i < kNumScales; ++i) {
    const double jitter = 0.7 + 0.6 * static_cast<double>(i / 2) / (kNumScales / 2 - 1);
    const double scale = (i % 2 == 0 ? unit : -unit) * jitter;
    scales_[i] = FloatToHalf(static_cast<float>(scale));
    // K-quants subtract the minimum, Q4_1 and Q5_1 add it.
    const double sign = InfoOf(type_).block_elems == 256 ? 1 : -1;
    minima_[i] = FloatToHalf(static_cast<float>(sign * MeanCode(type_) * scale));
  }
  // Powers of two only: two neighbours, mixed so that the mean square is right.
  const double exponent = std::floor(std::log2(unit));
  const double share = (std::exp2(2 * (std::log2(unit) - exponent)) - 1) / 3;
  exponents_.assign(kNumScales, static_cast<uint8_t>(std::clamp(127 + exponent, 1.0, 253.0)));
  for (size_t i = 0; i < static_cast<size_t>(share * kNumScales); ++i) ++exponents_[i];
}

void BlockFiller::Fill(uint64_t seed, std::span<std::byte> blocks) const {
  RandomBits random(seed);
  if (!floats_.empty()) {
    FillFloats(random, blocks);
    return;
  }
  size_t at = 0;
  for (; at + 8 <= blocks.size(); at += 8) {
    const uint64_t bits = random.Next();
    std::memcpy(blocks.data() + at, &bits, 8);
  }
  const uint64_t rest = random.Next();
  std::memcpy(blocks.data() + at, &rest, blocks.size() - at);
  const auto block_bytes = static_cast<size_t>(InfoOf(type_).block_bytes);
  for (size_t block = 0; block < blocks.size(); block += block_bytes) SetScales(random, blocks.data() + block);
}

void BlockFiller::FillFloats(RandomBits& random, std::span<std::byte> out) const {
  const auto width = static_cast<size_t>(InfoOf(type_).block_bytes);
  uint64_t bits = 0;
  for (size_t i = 0; i < out.size() / width; ++i) {
    bits = i % 5 == 0 ? random.Next() : bits >> 12;
    std::memcpy(out.data() + i * width, floats_.data() + bits % kTableSize * width, width);
  }
}

// Where the scales lie: docs/formats/quant.md.
void BlockFiller::SetScales(RandomBits& random, std::byte* block) const {
  const uint64_t bits = random.Next();
  const size_t pick = bits % kNumScales;
  const auto set = [&](size_t at) { Put(scales_[pick], block + at); };
  switch (type_) {
    case DType::kQ4_0:
    case DType::kQ5_0:
    case DType::kQ8_0:
    case DType::kIQ4_NL:
    case DType::kIQ4_XS:
      set(0);
      return;
    case DType::kQ4_1:
    case DType::kQ5_1:
      set(0);
      Put(minima_[pick], block + 2);
      return;
    case DType::kQ4_K:
    case DType::kQ5_K:
      set(0);
      Put(minima_[pick], block + 2);
      PackEqualScales(random.Next(), block + 4);
      return;
    case DType::kQ2_K:  // 16 scales, 4 bits each, with the minimum of the same size in the high half
      for (int i = 0; i < 16; ++i) block[i] = static_cast<std::byte>((8 + (std::to_integer<int>(block[i]) & 7)) * 17);
      set(80);
      Put(minima_[pick], block + 82);
      return;
    case DType::kQ3_K:
      set(108);
      return;
    case DType::kQ6_K:  // 16 signed scales: magnitudes 64 to 127
      for (int i = 192; i < 208; ++i) {
        const int random_byte = std::to_integer<int>(block[i]);
        const int magnitude = 64 + (random_byte & 63);
        block[i] = static_cast<std::byte>(random_byte & 64 ? magnitude : -magnitude);
      }
      set(208);
      return;
    case DType::kMXFP4:
      block[0] = static_cast<std::byte>(exponents_[pick]);
      return;
    default:
      QUERN_CHECK(false);
  }
}

}  // namespace quern::tools
