#include "tensor/codec_fit.h"

namespace quern::codec {
namespace {

// The weighted error of the codes nearest under (scale, offset), and the sums that give the best fit for these codes.
struct AffineTrial {
  AffineFit fit;
  float error = 0.0f;
};

struct AffineSums {
  float w = 0.0f, wx = 0.0f, wq = 0.0f, wqq = 0.0f, wxq = 0.0f;
};

int CodeAt(float x, float inverse, float offset, int max_code) {
  return RoundClamped((x - offset) * inverse, 0, max_code);
}

AffineSums SumsAt(Floats x, Floats w, float inverse, float offset, int max_code) {
  AffineSums sums;
  for (size_t i = 0; i < x.size(); ++i) {
    const float q = static_cast<float>(CodeAt(x[i], inverse, offset, max_code));
    const float weighted = w[i] * q;
    sums.w += w[i];
    sums.wx += w[i] * x[i];
    sums.wq += weighted;
    sums.wqq += weighted * q;
    sums.wxq += weighted * x[i];
  }
  return sums;
}

// Solves the two normal equations; false when the codes are all alike.
bool Solve(const AffineSums& sums, OffsetSign sign, AffineFit& fit) {
  const float determinant = sums.w * sums.wqq - sums.wq * sums.wq;
  if (!(determinant > 0.0f)) return false;
  fit.scale = (sums.w * sums.wxq - sums.wx * sums.wq) / determinant;
  fit.offset = (sums.wqq * sums.wx - sums.wq * sums.wxq) / determinant;
  if (sign == OffsetSign::kNotPositive && fit.offset > 0.0f) {
    fit.offset = 0.0f;
    fit.scale = sums.wxq / sums.wqq;
  }
  return fit.scale > 0.0f;
}

float ErrorOf(Floats x, Floats w, const AffineFit& fit, float inverse, float offset, int max_code) {
  float error = 0.0f;
  for (size_t i = 0; i < x.size(); ++i) {
    const float q = static_cast<float>(CodeAt(x[i], inverse, offset, max_code));
    const float difference = x[i] - (fit.scale * q + fit.offset);
    error += w[i] * difference * difference;
  }
  return error;
}

}  // namespace

AffineFit FitAffine(Floats x, Floats w, int max_code, OffsetSign sign) {
  const auto [lowest, highest] = std::ranges::minmax(x);
  const float low = sign == OffsetSign::kNotPositive ? std::fmin(lowest, 0.0f) : lowest;
  const float width = highest - low;
  if (width < kNegligible) return {0.0f, low};
  const float codes = static_cast<float>(max_code);
  AffineTrial best = {{width / codes, low}, 0.0f};
  best.error = ErrorOf(x, w, best.fit, codes / width, low, max_code);
  // From one code less to one code more than the range needs: fewer codes cut off the ends, more leave some unused.
  constexpr int kTrials = 10;
  for (int trial = -kTrials; trial <= kTrials; ++trial) {
    const float inverse = (codes + static_cast<float>(trial) / kTrials) / width;
    AffineTrial candidate;
    if (!Solve(SumsAt(x, w, inverse, low, max_code), sign, candidate.fit)) continue;
    candidate.error = ErrorOf(x, w, candidate.fit, inverse, low, max_code);
    if (candidate.error < best.error) best = candidate;
  }
  return best.fit;
}

float MeanSquare(Floats x) {
  float sum = 0.0f;
  for (const float value : x) sum += value * value;
  return sum / static_cast<float>(x.size());
}

void ScaleWeights(Floats x, std::span<float> w) {
  for (size_t i = 0; i < x.size(); ++i) w[i] = x[i] * x[i];
}

void AffineWeights(Floats x, std::span<float> w) {
  const float level = std::sqrt(MeanSquare(x));
  for (size_t i = 0; i < x.size(); ++i) w[i] = level + std::fabs(x[i]);
}

void ImportanceWeights(Floats x, Floats importance, float energy, std::span<float> w) {
  // Importances come in any unit. Dividing by their mean keeps the sums in range, and the floor keeps a span without
  // any importance from being decided by nothing.
  constexpr float kFloor = 1e-6f;
  double sum = 0.0;
  for (const float value : importance) sum += value;
  const double mean = sum / static_cast<double>(importance.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const float relative = mean > 0.0 ? static_cast<float>(importance[i] / mean) + kFloor : 1.0f;
    w[i] = relative * std::sqrt(energy + x[i] * x[i]);
  }
}

uint16_t SaturatedHalf(float value) { return FloatToHalf(std::clamp(value, -65504.0f, 65504.0f)); }

uint16_t HalfCovering(float d) {
  const uint16_t half = FloatToHalf(d);
  const bool smaller = std::fabs(HalfToFloat(half)) < std::fabs(d);
  // The largest finite half has no finite successor.
  return static_cast<uint16_t>(half + (smaller && (half & 0x7FFFu) < 0x7BFFu ? 1 : 0));
}

}  // namespace quern::codec
