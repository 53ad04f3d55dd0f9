// safetensors: a single file, or a folder's shards listed by model.safetensors.index.json.
//
// Hostile input: header length (at most 100 MB), JSON, dtypes, shapes and offsets are checked (no overlap, no gap, no
// byte behind the last tensor, size = product of shape times element); each error is Corrupt and names tensor and
// field. dtypes: F64 F32 F16 BF16 I64 I32 I16 I8, U8 and BOOL as I8; others are Unsupported and named, as are more than
// four dimensions and data that is not aligned to its element (files written before 2023). Format:
// huggingface/safetensors README, "Format". Immutable after reading.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "base/file.h"
#include "base/status.h"
#include "format/tensor_table.h"

namespace quern::format {

struct SafetensorsFile {
  TensorTable tensors;
  std::map<std::string, std::string, std::less<>> metadata;  // __metadata__; of shards, the first to name a key wins
};

// path: a .safetensors file, an index JSON, or a folder that holds one of those under its usual name.
// Shards must lie beside their index, and hold exactly the tensors it assigns to them.
Result<SafetensorsFile> OpenSafetensors(const std::filesystem::path& path);

// One file in memory; the tensors point into `bytes`, which must outlive them and be aligned as a file mapping is.
Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes);

// Writes one file, published whole or not at all. Tensors of larger elements come first, so that all are aligned, then
// names decide. Quantised formats are Unsupported: safetensors has no name for them.
Status WriteSafetensors(const std::filesystem::path& path, const TensorTable& tensors,
                        const std::map<std::string, std::string, std::less<>>& metadata,
                        AtomicFile::IfExists if_exists);

}  // namespace quern::format
