#include "kernels/lower/cuda/emit.h"

#include <algorithm>

#include <fmt/format.h>

namespace quern::kernels::lower {
namespace {

constexpr Dialect kCuda{.const_global = "const char*",
                        .global = "char*",
                        .shared = "char*",
                        .unroll = "#pragma unroll {}",
                        .hex_floats = true};

}  // namespace

std::string EmitCuda(std::span<const Source> sources) {
  std::string out = FileHeader() + "#include \"qk_cuda.cuh\"\n";
  for (const Source& source : sources) {
    const ir::Kernel& k = *source.kernel;
    out += KernelComment(source);
    out += fmt::format("QK_DEVICE void {}_tile(const qk_args& args, qk_u32 tile, char* smem) {{\n{}}}\n", k.symbol,
                       TileBody(k, kCuda, "args.buffer[{}]"));
    out += fmt::format("QK_KERNEL({}, {}) {}(QK_ARGS args) {{\n", k.threads(), std::max(1u, k.min_blocks), k.symbol);
    out += k.shared.empty() ? "  char* const smem = nullptr;\n" : "  QK_SHARED_MEMORY(smem);\n";
    out += "  for (qk_u32 tile = qk_first_tile(); tile < args.tiles; tile += qk_tile_step()) {\n";
    out += fmt::format("    {}_tile(args, tile, smem);\n", k.symbol);
    if (HasAsyncCopies(k)) out += "    qk_async_wait<0>();\n";
    if (!k.shared.empty()) out += "    qk_barrier();\n";
    out += "  }\n}\n";
  }
  return out;
}

}  // namespace quern::kernels::lower
