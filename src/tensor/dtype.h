// DType: how the elements of a tensor are stored, plain numbers and block-quantised formats alike.
//
// Sources: the block formats of GGUF as used by ggml (ggml-org/llama.cpp, ggml/src/ggml-common.h); layouts, in bytes,
// are documented in docs/formats/quant.md and in tensor/codec.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace quern {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kI8,
  kI16,
  kI32,
  kI64,
  kF64,  // carried by files (token orderings, masks); no arithmetic here
};
inline constexpr int kNumDTypes = static_cast<int>(DType::kF64) + 1;

// What is fixed about a DType. Plain numbers are blocks of one element.
struct DTypeInfo {
  std::string_view name;  // "Q4_K", as ggml spells it; lower-cased in kernel ids
  uint32_t ggml_type;     // id in GGUF
  int block_elems;        // values per block
  int block_bytes;        // bytes per block; blocks are packed without padding or alignment
  bool is_quantized;
  bool is_float;  // decodes to real numbers: plain floats and every quantised format
};

const DTypeInfo& InfoOf(DType type);
inline std::string_view NameOf(DType type) { return InfoOf(type).name; }

// By GGUF id. A type that ggml knows and quern does not read (IQ1_S, TQ1_0, NVFP4, ...) is Unsupported and named;
// any other number is Corrupt.
Result<DType> DTypeFromGgml(uint32_t ggml_type);
// By name, letter case ignored; nullopt when there is none.
std::optional<DType> DTypeFromName(std::string_view name);

}  // namespace quern
