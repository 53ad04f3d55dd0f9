// CUDA C++ text of kernels. Every kernel is a device function over one tile, `<symbol>_tile`, which never reads the
// block's index or the grid, and a thin entry that walks the tiles: so one persistent kernel can call the same function
// later. Compiled with --fmad=false -std=c++17 -O3 and device_text/ on the include path.
#pragma once

#include <span>
#include <string>

#include "kernels/lower/c_style.h"

namespace quern::kernels::lower {

std::string EmitCuda(std::span<const Source> sources);

}  // namespace quern::kernels::lower
