// Checkpoint: an opened model on disk, GGUF or Hugging Face folder, with its tensors under one set of names.
//
// Canonical names are those of GGUF ("blk.3.attn_q.weight"): a folder's names are mapped by the family's names.h,
// prefixes stripped, tensors of vision and audio towers left out. Everything above asks for canonical names only.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "format/gguf.h"
#include "format/hf_folder.h"
#include "format/vocabulary.h"

namespace quern::models {

struct Checkpoint {
  std::string path;
  std::string architecture;              // "gemma4", "gemma3"
  std::string name;                      // general.name, or the folder's name
  TensorTable tensors;                   // by canonical name
  std::optional<format::GgufFile> gguf;  // exactly one of these two
  std::optional<format::HfFolder> folder;
  bool is_demo = false;

  bool is_gguf() const { return gguf.has_value(); }
};

// Architecture as the file spells it, before any judgement: for `show`.
struct CheckpointHeader {
  std::string path;
  std::string declared_architecture;  // general.architecture or model_type
  std::string name;
  std::optional<format::GgufFile> gguf;
  std::optional<format::HfFolder> folder;
};
// path: a .gguf file, a folder with config.json, or a .safetensors file in such a folder.
Result<CheckpointHeader> OpenHeader(const std::filesystem::path& path);

// Unsupported for architectures this build cannot run as a model: drafters, encoders and everything unknown are named.
Result<Checkpoint> OpenCheckpoint(const std::filesystem::path& path);

// What the file recommends for sampling, and the ids it declares as ends; absent fields stay empty.
struct GenerationDefaults {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int> top_k;
  std::vector<int32_t> end_ids;
  std::vector<int32_t> suppress;
};
Result<GenerationDefaults> ReadGenerationDefaults(const Checkpoint& checkpoint);

Result<format::Vocabulary> ReadVocabulary(const Checkpoint& checkpoint);

// "Q4_0" when all matrices agree, else "mixed Q4_K/Q6_K", most bytes first.
std::string DescribeQuantization(const TensorTable& tensors);

}  // namespace quern::models
