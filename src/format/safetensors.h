// safetensors: a single file, or a folder's shards listed by model.safetensors.index.json.
//
// Hostile input: header length, JSON, dtypes, shapes and offsets are checked (no overlap, no gap at the end beyond the
// file, size = product of shape times element); each error is Corrupt and names tensor and field.
// Format: huggingface/safetensors README, "Format". Immutable after reading.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/status.h"
#include "format/tensor_table.h"

namespace quern::format {

struct SafetensorsFile {
  TensorTable tensors;
  std::map<std::string, std::string, std::less<>> metadata;  // __metadata__
};

// path: a .safetensors file, an index JSON, or a folder that holds one of those under its usual name.
Result<SafetensorsFile> OpenSafetensors(const std::filesystem::path& path);

// Writes one file, tensors in name order, published whole or not at all.
Status WriteSafetensors(const std::filesystem::path& path, const TensorTable& tensors,
                        const std::map<std::string, std::string, std::less<>>& metadata, AtomicFile::IfExists if_exists);

}  // namespace quern::format
