// ArenaPlan: where each value of a program lies in one scratch block. Values whose lives do not overlap share memory.
// Pure function of program and row counts.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/program/program.h"

namespace quern::ops {

struct ArenaPlan {
  std::vector<int64_t> offset_floats;  // by value; multiples of 16 (64 bytes); -1 for a value that no operation touches
  int64_t size_floats = 0;
};

ArenaPlan PlanArena(const Program& program, int64_t max_rows, int64_t max_kept);

}  // namespace quern::ops
