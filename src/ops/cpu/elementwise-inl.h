// The bodies of the row-wise operations on F32x8. Compiled once per instruction set, by elementwise_<isa>.cc, which
// includes its vector_*-inl.h first.
#pragma once

#include "ops/cpu/elementwise.h"
#include "ops/cpu/vector_math-inl.h"

namespace quern::ops::cpu {
namespace {

// Calls body(load, store, offset) for every vector of [0, n); the last one may be partial. load(p, fill) and store(p,
// v) touch the elements that exist.
template <typename Body>
inline void ForEachVector(int64_t n, const Body& body) {
  int64_t at = 0;
  for (; at + 8 <= n; at += 8) {
    body([at](const float* p, float) { return Load(p + at); }, [at](float* p, F32x8 v) { Store(p + at, v); });
  }
  if (const int64_t rest = n - at; rest > 0) {
    body([at, rest](const float* p, float fill) { return LoadFirst(p + at, rest, fill); },
         [at, rest](float* p, F32x8 v) { StoreFirst(p + at, rest, v); });
  }
}

// (mean(x^2) + eps)^(-1/2): a square root and a division, each rounded.
inline F32x8 InverseRms(const float* x, int64_t n, float eps) {
  F32x8 squares = Set(0.0f);
  ForEachVector(n, [&](auto load, auto) {
    const F32x8 v = load(x, 0.0f);
    squares = Fma(v, v, squares);
  });
  return Set(1.0f / SquareRoot(SumLanes(squares) / static_cast<float>(n) + eps));
}

void RmsNorm(const float* x, const float* w, float* y, int64_t n, float eps) {
  const F32x8 factor = InverseRms(x, n, eps);
  ForEachVector(n, [&](auto load, auto store) {
    const F32x8 normed = Mul(load(x, 0.0f), factor);
    store(y, w == nullptr ? normed : Mul(normed, load(w, 0.0f)));
  });
}

void NormAdd(const float* x, const float* w, float* r, int64_t n, float eps, float scale) {
  const F32x8 factor = InverseRms(x, n, eps);
  ForEachVector(n, [&](auto load, auto store) {
    const F32x8 normed = Mul(load(x, 0.0f), factor);
    const F32x8 weighted = w == nullptr ? normed : Mul(normed, load(w, 0.0f));
    store(r, Mul(Add(load(r, 0.0f), weighted), Set(scale)));
  });
}

void GeluMul(const float* x, const float* g, float* y, int64_t n) {
  ForEachVector(n, [&](auto load, auto store) { store(y, Mul(GeluTanh(load(x, 0.0f)), load(g, 0.0f))); });
}

void AddScaled(const float* a, const float* b, float* y, int64_t n, float scale) {
  ForEachVector(n, [&](auto load, auto store) { store(y, Mul(Add(load(a, 0.0f), load(b, 0.0f)), Set(scale))); });
}

void Softcap(float* x, int64_t n, float cap) {
  ForEachVector(n, [&](auto load, auto store) { store(x, Mul(Set(cap), Tanh(Div(load(x, 0.0f), Set(cap))))); });
}

void Axpy(const float* x, float w, float* y, int64_t n) {
  ForEachVector(n, [&](auto load, auto store) { store(y, Fma(load(x, 0.0f), Set(w), load(y, 0.0f))); });
}

// a' = a cos - b sin, b' = b cos + a sin: the product with sin rounded, the other fused.
void Rope(float* x, const float* cos, const float* sin, int64_t pairs, int64_t half) {
  ForEachVector(pairs, [&](auto load, auto store) {
    const F32x8 a = load(x, 0.0f), b = load(x + half, 0.0f), c = load(cos, 0.0f), s = load(sin, 0.0f);
    store(x, Fma(a, c, Sub(Set(-0.0f), Mul(b, s))));
    store(x + half, Fma(b, c, Mul(a, s)));
  });
}

void Softmax(float* x, int64_t n) {
  if (n <= 0) return;
  constexpr float kLowest = -__builtin_inff();
  F32x8 largest = Set(kLowest);
  ForEachVector(n, [&](auto load, auto) { largest = Max(largest, load(x, kLowest)); });
  float lanes[8];
  Store(lanes, largest);
  float top = lanes[0];
  for (int i = 1; i < 8; ++i) top = top > lanes[i] ? top : lanes[i];
  F32x8 sum = Set(0.0f);
  ForEachVector(n, [&](auto load, auto store) {
    const F32x8 power = Exp(Sub(load(x, kLowest), Set(top)));
    sum = Add(sum, power);  // lanes beyond n add e^-inf = 0
    store(x, power);
  });
  const F32x8 total = Set(SumLanes(sum));
  ForEachVector(n, [&](auto load, auto store) { store(x, Div(load(x, 0.0f), total)); });
}

constexpr ElementwiseKernels kKernels = {RmsNorm, NormAdd, GeluMul, AddScaled, Softcap, Axpy, Rope, Softmax};

}  // namespace
}  // namespace quern::ops::cpu
