// Random products for tests of the generators, and the numerics contract spelled out once more, block by block.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "kernels/descriptor/descriptor.h"
#include "kernels/layout/qa8_tile.h"
#include "kernels/layout/rp16.h"
#include "tensor/code_form.h"
#include "tensor/codec.h"
#include "tensor/half.h"

namespace quern::kernels::ir::gen {

struct MatmulCase {
  DType format;
  uint32_t rows, n, k;
  std::vector<std::byte> weights;  // [N, K] as in the file
  std::vector<int8_t> q;           // [R, K] codes of QA8
  std::vector<float> d;            // [R, K / 32]
  std::vector<float> x;            // [R, K] what was quantised

  int64_t row_bytes() const { return TensorView::RowBytes(format, k); }
};

inline MatmulCase RandomMatmul(DType format, uint32_t rows, uint32_t n, uint32_t k, uint32_t seed) {
  MatmulCase c{format, rows, n, k, {}, {}, {}, {}};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  c.weights.resize(static_cast<size_t>(c.row_bytes()) * n);
  std::vector<float> values(k);
  for (uint32_t i = 0; i < n; ++i) {
    const float size = std::exp2(normal(random) * 3);
    for (float& v : values) v = normal(random) * size;
    if (i % 5 == 3 && k >= 64) std::fill(values.begin() + 32, values.begin() + 64, 0.0f);  // a zero block
    static_cast<void>(EncodeRow(format, values, {}, c.weights.data() + static_cast<int64_t>(i) * c.row_bytes()));
  }
  c.x.resize(size_t{rows} * k);
  c.q.resize(size_t{rows} * k);
  c.d.resize(size_t{rows} * k / 32);
  for (float& v : c.x) v = normal(random);
  for (size_t b = 0; b < c.d.size(); ++b) {
    float largest = 0;
    for (uint32_t e = 0; e < 32; ++e) largest = std::max(largest, std::abs(c.x[b * 32 + e]));
    c.d[b] = largest / 127.0f;
    for (uint32_t e = 0; e < 32; ++e)
      c.q[b * 32 + e] = static_cast<int8_t>(std::round(c.x[b * 32 + e] * (1.0f / c.d[b])));
  }
  return c;
}

inline float DotI8(const MatmulCase& c, uint32_t row, uint32_t n) {
  const CodeForm form = CodeFormOf(c.format);
  float chain[8] = {};
  for (uint32_t b = 0; b < c.k / 32; ++b) {
    const CodeBlock w = ReadCodeBlock(c.format, c.weights.data() + static_cast<int64_t>(n) * c.row_bytes(), b);
    const int8_t* q = c.q.data() + size_t{row} * c.k + 32 * b;
    const float dx = c.d[size_t{row} * (c.k / 32) + b];
    const bool e8m0 = form.scale == ScaleKind::kE8m0PerBlock;
    const float dw = e8m0 ? std::ldexp(1.0f, w.scale - 128) : HalfToFloat(w.scale);
    int sum = 0, min_sum = 0;
    for (uint32_t e = 0; e < 32; ++e) {
      int code = w.codes[e];
      if (form.table == CodeTable::kIq4) code = kIq4Codes[code];
      if (form.table == CodeTable::kMxfp4) code = kMxfp4Codes[code];
      if (form.is_signed && form.table == CodeTable::kNone) code = static_cast<int8_t>(code);
      sum += w.sub_scales[e / 16] * (code - form.offset) * q[e];
      min_sum += w.mins[e / 16] * q[e];
    }
    float& acc = chain[b % 8];
    acc = std::fma(static_cast<float>(sum), dw * dx, acc);
    if (form.has_min) {
      const float m = form.min_codes != 0 ? -HalfToFloat(w.min_scale) : HalfToFloat(w.min_scale);
      acc = std::fma(static_cast<float>(min_sum), m * dx, acc);
    }
  }
  return ((chain[0] + chain[4]) + (chain[2] + chain[6])) + ((chain[1] + chain[5]) + (chain[3] + chain[7]));
}

// The operands as the kernel takes them: panels and qa8 tiles.
struct Rp16Operands {
  std::vector<std::byte> w, q, d, isum;
  bool has_min = false;

  std::vector<std::span<std::byte>> Buffers(std::vector<float>& y) {
    std::vector<std::span<std::byte>> buffers = {w, q, d};
    if (has_min) buffers.push_back(isum);
    buffers.push_back(std::as_writable_bytes(std::span(y)));
    return buffers;
  }
};

inline Rp16Operands OperandsOf(const MatmulCase& c) {
  Rp16Operands out;
  out.has_min = CodeFormOf(c.format).has_min;
  out.w.resize(static_cast<size_t>(Rp16Bytes(c.format, c.n, c.k)));
  static_cast<void>(
      PackRp16(TensorView{c.weights.data(), c.format, {static_cast<int64_t>(c.n), static_cast<int64_t>(c.k)}}, out.w));
  const Qa8TileBytes bytes = Qa8TileBytesOf(c.rows, c.k);
  out.q.resize(static_cast<size_t>(bytes.q));
  out.d.resize(static_cast<size_t>(bytes.d));
  out.isum.resize(static_cast<size_t>(bytes.isum));
  const uint32_t pairs = (c.k + 63) / 64;
  for (uint32_t r = 0; r < c.rows; ++r) {
    for (uint32_t k = 0; k < c.k; ++k) {
      const size_t pair_at = size_t{r / 8} * pairs + k / 64, word = k % 64 / 4, lane = 4 * (r % 8) + word % 4;
      const int8_t code = c.q[size_t{r} * c.k + k];
      out.q[pair_at * 512 + lane * 16 + 4 * (word / 4) + k % 4] = static_cast<std::byte>(code);
      int32_t sum = 0;
      std::byte* at = out.isum.data() + pair_at * 128 + (r % 8) * 16 + (k % 64 / 16) * 4;
      std::memcpy(&sum, at, 4);
      sum += code;
      std::memcpy(at, &sum, 4);
      std::memcpy(out.d.data() + pair_at * 64 + (r % 8) * 8 + (k % 64 / 32) * 4, &c.d[size_t{r} * (c.k / 32) + k / 32],
                  4);
    }
  }
  return out;
}

}  // namespace quern::kernels::ir::gen
