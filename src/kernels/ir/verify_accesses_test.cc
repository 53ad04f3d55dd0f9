// V4, V5, V7 and V9: right kernels pass, and each planted fault is refused with its own code.
#include "kernels/ir/verify_kernels_test.h"

namespace quern::kernels::ir {
namespace {

TEST(VerifyAccesses, RightKernelsPass) {
  EXPECT_ACCEPTED(Elementwise());
  EXPECT_ACCEPTED(Norm());
  EXPECT_ACCEPTED(MatVec());
  EXPECT_ACCEPTED(Panel());
  EXPECT_ACCEPTED(Gather());
  EXPECT_ACCEPTED(Gather({.clamps = true}));
  EXPECT_ACCEPTED(Tiled());
}

TEST(VerifyAccesses, MissingOrWrongGuards) {
  EXPECT_CODES(Elementwise({.no_guard = true}), "V4", "V8");
  EXPECT_CODES(Elementwise({.off_by_one = true}), "V4", "V8");
  EXPECT_CODES(Elementwise({.wrong_row = true}), "V4");
  EXPECT_CODES(Norm({.small_shared = true}), "V4");
  EXPECT_CODES(MatVec({.no_row_guard = true}), "V4");
  EXPECT_CODES(MatVec({.no_block_guard = true}), "V4");
  EXPECT_CODES(Panel({.no_row_guard = true}), "V4", "V8");
  EXPECT_CODES(Panel({.no_batch_guard = true}), "V4");
  EXPECT_CODES(Panel({.half_shared = true}), "V4");
  EXPECT_CODES(Gather({.trusts_id = true}), "V4");
  EXPECT_CODES(Gather({.clamps = true, .clamps_late = true}), "V4");
  EXPECT_CODES(Tiled({.no_row_guard = true}), "V4");
  EXPECT_CODES(Tiled({.swapped = true}), "V4", "V8");
}

TEST(VerifyAccesses, NarrowOffsets) {
  EXPECT_CODES(Elementwise({.narrow = true}), "V7");
  EXPECT_CODES(MatVec({.narrow = true}), "V7");
  EXPECT_CODES(Panel({.narrow = true}), "V7");
  EXPECT_CODES(Gather({.narrow = true}), "V7");
  // Within 4 GiB, u32 is enough.
  EXPECT_ACCEPTED(Elementwise({.narrow = true, .max_rows = 1 << 12}));
}

TEST(VerifyAccesses, Alignment) {
  EXPECT_CODES(Norm({.misaligned = true}), "V5");
  EXPECT_CODES(Elementwise({.align = 2}), "V5");
  EXPECT_CODES(MatVec({.odd = true}), "V5");
}

TEST(VerifyAccesses, DivisionByZero) { EXPECT_CODES(Tiled({.zero_columns = true}), "V9"); }

}  // namespace
}  // namespace quern::kernels::ir
