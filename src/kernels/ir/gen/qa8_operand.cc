#include "kernels/ir/gen/qa8_operand.h"

namespace quern::kernels::ir::gen {

std::array<Value, 2> PairOperand::Words(Builder& b, uint32_t k) const {
  return {b.Extract(q, 2 * k), b.Extract(q, 2 * k + 1)};
}

Value PairOperand::Scale(Builder& b, uint32_t k, uint32_t column) const {
  return blocks == 2 ? b.Extract(d[0], 2 * column + k) : d[column].value();
}

Value PairOperand::Sum(Builder& b, uint32_t k, uint32_t half, uint32_t column) const {
  return b.Extract(isum[column], 2 * k + half);
}

Qa8Reader::Qa8Reader(Builder& b, const Options& options) : b_(b), o_(options) {
  // A group has four pairs; a warp of one chain reads half `part mod 2` of pair part / 2.
  const bool single = o_.chains == 1;
  const Value first_pair = single ? o_.part >> 1 : o_.part * (o_.chains / 2);
  const Value half = single ? o_.part & 1 : b.U32(0);
  const Value t = b.Lane() & 3;
  const Value tile_pairs = b.Let("tile_pairs", b.Wide(o_.row_tile) * b.Wide(o_.pairs) + b.Wide(first_pair));
  q_base_ = b.Let("q_base", tile_pairs * 512 + b.Wide(b.Lane() * 16 + half * 8));
  d_base_ = b.Let("d_base", tile_pairs * 64 + b.Wide(t * 16 + half * 4));
  if (o_.with_sums) isum_base_ = b.Let("isum_base", tile_pairs * 128 + b.Wide(t * 32 + half * 8));
}

PairOperand Qa8Reader::Declare(std::string_view name) {
  const std::string prefix(name);
  PairOperand p;
  p.blocks = o_.chains == 1 ? 1 : 2;
  const auto lanes = static_cast<uint8_t>(2 * p.blocks);
  p.q = b_.Declare(prefix + "_q", {Scalar::kU32, lanes});
  if (p.blocks == 2) {
    p.d = {b_.Declare(prefix + "_d", kF32x4)};
  } else {
    p.d = {b_.Declare(prefix + "_d0", kF32), b_.Declare(prefix + "_d1", kF32)};
  }
  for (uint32_t column = 0; o_.with_sums && column < 2; ++column)
    p.isum.push_back(b_.Declare(prefix + "_s" + std::to_string(column), {Scalar::kI32, lanes}));
  return p;
}

void Qa8Reader::Load(const PairOperand& p, Value group, uint32_t i, Value exists) {
  const Value row_exists = exists.builder == nullptr ? o_.has_row : o_.has_row & exists;
  const Value wide = b_.Wide(group);
  b_.LoadInto(p.q, o_.q, q_base_ + wide * 2048 + b_.U64(512 * i), row_exists);
  const Value d_at = d_base_ + wide * 256 + b_.U64(64 * i);
  for (uint32_t k = 0; k < p.d.size(); ++k) b_.LoadInto(p.d[k], o_.d, d_at + b_.U64(8 * k), exists);
  for (uint32_t column = 0; column < p.isum.size(); ++column) {
    b_.LoadInto(p.isum[column], o_.isum, isum_base_ + wide * 512 + b_.U64(128 * i + 16 * column), exists);
  }
}

void Qa8Reader::Copy(Builder& b, const PairOperand& to, const PairOperand& from) {
  b.Set(to.q, from.q);
  for (size_t k = 0; k < to.d.size(); ++k) b.Set(to.d[k], from.d[k]);
  for (size_t k = 0; k < to.isum.size(); ++k) b.Set(to.isum[k], from.isum[k]);
}

}  // namespace quern::kernels::ir::gen
