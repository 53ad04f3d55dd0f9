// Random weights made directly in the stored form: no floats are encoded, so gigabytes come at the speed of memory.
//
// Bytes are uniform; scale fields are then set so that decoded values have mean near 0 and the standard deviation asked
// for. The same seed gives the same bytes on every machine and for every number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace quern::tools {

// xoshiro256**, seeded with splitmix64 (Blackman and Vigna; public domain algorithms).
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed);
  uint64_t Next();
  double Uniform();  // [0, 1)
  double Normal();   // mean 0, standard deviation 1

 private:
  uint64_t state_[4];
};

class BlockFiller {
 public:
  // Any float type but F64. stddev > 0.
  BlockFiller(DType type, double stddev);

  // blocks: whole blocks.
  void Fill(uint64_t seed, std::span<std::byte> blocks) const;

 private:
  static constexpr size_t kTableSize = 4096;

  void FillFloats(RandomBits& random, std::span<std::byte> out) const;
  void SetScales(RandomBits& random, std::byte* block) const;
  void MakeScaleTables(double unit);

  DType type_;
  // Plain floats: the stored form of kTableSize normal values.
  std::vector<std::byte> floats_;
  // Scales, as f16 bits: 256 magnitudes around the wanted one, half of them negative. minima_[i] belongs to scales_[i]
  // and centres the unsigned codes of formats with a minimum.
  std::vector<uint16_t> scales_, minima_;
  std::vector<uint8_t> exponents_;  // MXFP4
};

}  // namespace quern::tools
