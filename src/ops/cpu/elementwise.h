// Row-wise CPU operations other than products and attention. Formulas and in-place rules: ops/program/program.h.
// Each works on one row and is pure; all instruction sets agree bit for bit (sums run in eight lanes, lane l over
// elements l, l + 8, ..., combined 4, 2, 1; exp and tanh are ops/math.h).
#pragma once

#include <cstdint>

#include "device/cpu/cpu_device.h"

namespace quern::ops::cpu {

struct ElementwiseKernels {
  // y = x * (mean(x^2) + eps)^(-1/2) * w; w may be null (ones); y may be x.
  void (*rms_norm)(const float* x, const float* w, float* y, int64_t n, float eps);
  // r = (r + norm_w(x)) * scale
  void (*norm_add)(const float* x, const float* w, float* r, int64_t n, float eps, float scale);
  // y = gelu_tanh(x) * g; y may be x
  void (*gelu_mul)(const float* x, const float* g, float* y, int64_t n);
  // y = (a + b) * scale; y may be a or b
  void (*add)(const float* a, const float* b, float* y, int64_t n, float scale);
  // x = cap * tanh(x / cap)
  void (*softcap)(float* x, int64_t n, float cap);
  // y += x * w
  void (*axpy)(const float* x, float w, float* y, int64_t n);
  // Rotates pairs (i, i + half) for i < pairs by (cos[i], sin[i]).
  void (*rope)(float* x, const float* cos, const float* sin, int64_t pairs, int64_t half);
  // x = exp(x - max(x)) / sum
  void (*softmax)(float* x, int64_t n);
};

const ElementwiseKernels& FindElementwise(device::cpu::Isa isa);

}  // namespace quern::ops::cpu
