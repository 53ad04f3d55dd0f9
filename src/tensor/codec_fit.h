// Internal to tensor/codec: the least-squares searches behind the encoders.
//
// A block is encoded well when sum w * (x - decoded)^2 is small. For given codes the best scale (and offset) is a
// linear least-squares problem; the codes depend on the scale, so several starting scales around the obvious one are
// tried and the best is kept. Inputs have magnitude below 1e7 (codec.cc refuses more), so float sums of squares are
// safe.
#pragma once

#include <array>
#include <cmath>

#include "tensor/codec_blocks.h"

namespace quern::codec {

// Blocks whose largest magnitude is below half the smallest binary16 decode to zero.
inline constexpr float kNegligible = 0x1p-26f;

// A grid is the set of values that a code selects before the scale is applied.
// Evenly spaced: -kHalf .. kHalf - 1.
template <int kHalf>
struct UniformGrid {
  static constexpr float kLowest = -kHalf, kHighest = kHalf - 1;
  static int Nearest(float value) { return RoundClamped(value, -kHalf, kHalf - 1) + kHalf; }
  static float Value(int code) { return static_cast<float>(code - kHalf); }
};

// The table of IQ4_NL and IQ4_XS.
struct Iq4Grid {
  static constexpr float kLowest = -127, kHighest = 113;
  static int Nearest(float value);
  static float Value(int code) { return kIq4Values[static_cast<size_t>(code)]; }
};

// Nearest entry by the integer part of twice the value: every midpoint of the table is a multiple of one half.
inline constexpr auto kIq4Nearest = [] {
  std::array<uint8_t, 512> nearest{};
  for (int twice = -256, code = 0; twice < 256; ++twice) {
    while (code < 15 && twice >= kIq4Values[static_cast<size_t>(code)] + kIq4Values[static_cast<size_t>(code) + 1])
      ++code;
    nearest[static_cast<size_t>(twice + 256)] = static_cast<uint8_t>(code);
  }
  return nearest;
}();

inline int Iq4Grid::Nearest(float value) {
  const float shifted = 2.0f * value + 256.0f;
  if (!(shifted > 0.0f)) return 0;
  return shifted < 511.0f ? kIq4Nearest[static_cast<size_t>(shifted)] : 15;
}

// Sums of one trial: wxv = sum w x v and wvv = sum w v^2 for the grid values v nearest to x * inverse.
struct ScaleSums {
  float wxv = 0.0f, wvv = 0.0f;
  float scale() const { return wvv > 0.0f ? wxv / wvv : 0.0f; }
  // By how much the best scale lowers the weighted error below that of an all-zero block.
  float gain() const { return wxv * scale(); }
};

template <typename Grid>
ScaleSums SumsAt(Floats x, Floats w, float inverse) {
  ScaleSums sums;
  for (size_t i = 0; i < x.size(); ++i) {
    const float value = Grid::Value(Grid::Nearest(x[i] * inverse));
    const float weighted = w[i] * value;
    sums.wxv += weighted * x[i];
    sums.wvv += weighted * value;
  }
  return sums;
}

inline float SignedExtreme(Floats x) {
  float extreme = 0.0f;
  for (const float value : x) {
    if (std::fabs(extreme) < std::fabs(value)) extreme = value;
  }
  return extreme;
}

// The scale s (of either sign) with x ~ s * grid value. Zero for a negligible block.
template <typename Grid>
float FitScale(Floats x, Floats w) {
  const float extreme = SignedExtreme(x);
  if (std::fabs(extreme) < kNegligible) return 0.0f;
  ScaleSums best;
  // The extreme is tried as the lowest and as the highest value of the grid, each stretched both ways by one code or by
  // 8 %, whichever is more. With 2 % the error of IQ4_NL is 0.4 % higher, with importances
  // 3.5 %.
  constexpr int kTrials = 9;
  for (const float end : {Grid::kLowest, Grid::kHighest}) {
    const float spread = std::fmax(1.0f / std::fabs(end), 0.08f);
    for (int trial = -kTrials; trial <= kTrials; ++trial) {
      const float stretch = 1.0f + spread * static_cast<float>(trial) / kTrials;
      const ScaleSums sums = SumsAt<Grid>(x, w, end * stretch / extreme);
      if (sums.gain() > best.gain()) best = sums;
    }
  }
  // Alternate between best codes and best scale until nothing improves.
  for (int round = 0; round < 4 && best.scale() != 0.0f; ++round) {
    const ScaleSums sums = SumsAt<Grid>(x, w, 1.0f / best.scale());
    if (!(sums.gain() > best.gain())) break;
    best = sums;
  }
  return best.scale();
}

struct AffineFit {
  float scale = 0.0f;   // not negative
  float offset = 0.0f;  // x ~ scale * code + offset
};

enum class OffsetSign : uint8_t { kAny, kNotPositive };

// Scale and offset for codes 0 .. max_code. kNotPositive is for the K-quants, which store -offset without a sign.
AffineFit FitAffine(Floats x, Floats w, int max_code, OffsetSign sign);

// Weights of a block, by the rules that ggml's quantiser has made customary.
// Without importances: x^2 for a scale alone (large values matter), r + |x| with r the root mean square of the span for
// scale and offset. With importances: importance * sqrt(energy + x^2); energy is the mean square of the
// row for 32-value blocks and twice that of the super-block for the others.
void ScaleWeights(Floats x, std::span<float> w);
void AffineWeights(Floats x, std::span<float> w);
void ImportanceWeights(Floats x, Floats importance, float energy, std::span<float> w);
float MeanSquare(Floats x);

// value as binary16, kept finite: a search near the limit of a format may ask for slightly more.
uint16_t SaturatedHalf(float value);

// d as binary16, moved away from zero where rounding would make it smaller: a scale that covers the largest sub-scale
// must not clip it, which matters where binary16 is coarse.
uint16_t HalfCovering(float d);

}  // namespace quern::codec
