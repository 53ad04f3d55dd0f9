// Descriptor: what is asked of a kernel, and nothing about how it is done. Two equal requests have one canonical text,
// and so one id, on every machine. No pointers, no device handles, no model names.
//
// Schedule: how one kernel does it. A descriptor and a schedule together name a kernel.
// Both are values; any thread may use them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/dtype.h"

namespace quern::kernels {

enum class Family : uint8_t {
  kMatmul,        // y = x W^T
  kGatedMatmul,   // y = gelu_tanh(x Wg^T) * (x Wu^T)
  kQuantizeRows,  // QA8 of f32 rows
  kRmsNorm,       // y = x * rms(x) * w
  kNormAdd,       // r = (r + norm_w(x)) * scale
  kHeadNormRope,  // q, k, v: norm per head, rotation
  kGeluMul,
  kAdd,
  kSoftcap,
  kEmbed,   // rows of a quantised table
  kRouter,  // scores of experts, top-k, weights
  kArgmax,
};

enum class Encoding : uint8_t { kF32, kF16, kBF16, kQa8, kI32 };

// How the bytes of a weight lie in memory.
//   kFile  as in GGUF: rows of blocks, each row contiguous
//   kRp16  panels of 16 rows for mma.sync (docs/kernels.md)
enum class Layout : uint8_t { kFile, kRp16 };

// The numerics contract (docs/kernels.md). dot classes and elementwise are bitwise equal on every backend; mma16 is
// bounded.
enum class NumericsClass : uint8_t { kElementwise, kDotF, kDotI8, kMma16Row, kMma16Tile };

enum class Epilogue : uint8_t { kStore, kScale, kSoftcap, kArgmax };

struct WeightOperand {
  DType format = DType::kF32;
  Layout layout = Layout::kFile;
  friend bool operator==(const WeightOperand&, const WeightOperand&) = default;
};

// An inclusive range that a kernel of this descriptor must serve.
struct Dim {
  std::string name;  // "K", "N", "R"
  uint32_t min = 1, max = 1, multiple_of = 1;
  bool fixed() const { return min == max; }
  bool holds(uint64_t value) const { return value >= min && value <= max && value % multiple_of == 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

struct Descriptor {
  Family family = Family::kMatmul;
  std::vector<WeightOperand> weights;  // 0 .. 3
  Encoding in = Encoding::kF32;
  Encoding out = Encoding::kF32;
  std::vector<Dim> dims;  // in any order; the canonical text sorts them by name
  std::vector<Epilogue> epilogue;
  NumericsClass numerics = NumericsClass::kElementwise;

  const Dim* dim(std::string_view name) const;  // nullptr when it has none of that name
};

// How the products of a block are formed. kLanes is the conservative form of every family: plain threads, on every
// target.
enum class Mma : uint8_t { kLanes, kDp4a, kM16N8K16, kM16N8K32 };

struct Schedule {
  Mma mma = Mma::kLanes;
  uint32_t warps = 4;          // per block
  uint32_t rows_per_warp = 1;  // output rows, or panels, that a warp works through
  uint32_t split = 1;          // warps that share an output by whole chains: changes no bit
  uint32_t unroll = 1;         // steps of K in one stage
  uint32_t stages = 0;         // of an asynchronous pipeline; 0: plain loads
  uint32_t min_blocks = 0;     // per multiprocessor that registers must allow
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string_view NameOf(Family family);
std::string_view NameOf(Encoding encoding);
std::string_view NameOf(Layout layout);
std::string_view NameOf(NumericsClass numerics);
std::string_view NameOf(Epilogue epilogue);
std::string_view NameOf(Mma mma);

// One line, keys sorted: the identity. Locale-independent.
std::string CanonicalText(const Descriptor& descriptor);
std::string CanonicalText(const Schedule& schedule);
// The first 16 hexadecimal digits of the text's SHA-256.
std::string DescriptorId(const Descriptor& descriptor);
std::string ScheduleId(const Schedule& schedule);
// "<op>.<format>.<activations>.<shape class>.<epilogue>.<form>.<8 hex digits of SHA-256 over both ids>".
std::string KernelId(const Descriptor& descriptor, const Schedule& schedule);

// The names of rows in a kernel id, from the dim "R": rows0, rows1, rows2_8, rows9_64, rows65_plus, or a span of them.
std::string ShapeClass(const Descriptor& descriptor);

}  // namespace quern::kernels
