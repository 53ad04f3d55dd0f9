// qa8 tiles: int8 activations of 8 rows in the order in which a warp's lanes hold the operand B of mma.sync.
//
// K is cut into pairs of blocks (64 values; an odd last pair is filled with zeros). A tile of 8 rows has three planes:
//   q     i8  [pairs][32 lanes][16]: with g = lane / 4 the row and t = lane mod 4: words 4j + t of the row's 16 words
//   of
//         this pair, for j = 0 .. 3
//   d     f32 [pairs][8 rows][2 blocks]
//   isum  i32 [pairs][8 rows][2 blocks][2 halves]: sums of the codes over 16
// A QA8 block: d = max|x| / 127, q = round(x * (1 / d)) halves away from zero. Where d is below kQa8SmallestScale the
// codes are zero, and a NaN or an infinity becomes d itself, so that it reaches every output of the row.
#pragma once

#include <cstdint>

namespace quern::kernels {

inline constexpr uint32_t kTileRows = 8;

struct Qa8TileBytes {
  int64_t q = 0, d = 0, isum = 0;
};
// Of `rows` rows of num_cols values: ceil(rows / 8) tiles.
constexpr Qa8TileBytes Qa8TileBytesOf(int64_t rows, int64_t num_cols) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows, pairs = (num_cols + 63) / 64;
  return {tiles * pairs * 512, tiles * pairs * 64, tiles * pairs * 128};
}

}  // namespace quern::kernels
