// Shape and TensorView: where a tensor's bytes lie and what they mean. Neither owns memory.
//
// Shapes are written outermost dimension first and tensors are row-major and contiguous: a weight is [N, K] (output
// rows, input elements), experts are [E, N, K]. A quantised row is K / block_elems consecutive blocks.
// Views of host memory may be read from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"
#include "tensor/dtype.h"

namespace quern {

class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (const int64_t dim : dims) Append(dim);
  }
  // Rank must stay within kMaxRank: readers of files check before they append.
  void Append(int64_t dim) {
    QUERN_CHECK(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t back() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  int64_t num_elems() const {
    int64_t count = 1;
    for (int axis = 0; axis < rank_; ++axis) count *= dims_[axis];
    return count;
  }
  bool operator==(const Shape&) const = default;
  std::string ToString() const;  // "[262144, 1536]"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

struct TensorView {
  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  int64_t row_elems() const { return shape.back(); }
  int64_t num_rows() const { return row_elems() == 0 ? 0 : shape.num_elems() / row_elems(); }
  // Bytes of one row; the last dimension is a multiple of block_elems (readers refuse anything else).
  int64_t row_bytes() const { return RowBytes(dtype, row_elems()); }
  int64_t num_bytes() const { return num_rows() * row_bytes(); }
  const std::byte* row(int64_t index) const { return data + index * row_bytes(); }

  static int64_t RowBytes(DType dtype, int64_t row_elems) {
    const DTypeInfo& info = InfoOf(dtype);
    return row_elems / info.block_elems * info.block_bytes;
  }
};

}  // namespace quern
