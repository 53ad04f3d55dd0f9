// Reading the Hugging Face cache, which quern shares with other programs: repositories, revisions, snapshots, and which
// files of a snapshot a variant means. Read-only; never uses the network.
// Layout: huggingface_hub, "Understand caching".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace quern::engine {

// models_dir, else QUERN_MODELS_DIR, HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub,
// ~/.cache/huggingface/hub.
std::filesystem::path HfCacheDir(const std::string& models_dir);

struct HfReference {
  std::string owner, name;  // "google", "gemma-4-E2B-it-qat-q4_0-gguf"
  std::string variant;      // "q4_0", "gguf", "safetensors", a file name, or empty
  std::string revision;     // "main" when not given
};
// "[hf:]owner/name[:variant][@revision]"; nullopt when the text has another form.
std::optional<HfReference> ParseHfReference(std::string_view text);

// The folder of the reference's snapshot; NotFound when it is not in the cache.
Result<std::filesystem::path> FindSnapshot(const std::filesystem::path& cache, const HfReference& reference);

// What a variant of a snapshot is: a .gguf file (the first part of a split one) or the folder itself (safetensors).
struct SnapshotVariant {
  std::string tag;  // "Q4_0", "BF16", "safetensors"
  std::filesystem::path path;
  int64_t size_bytes = 0;   // all parts
  std::string task;         // "generate", "draft", "embed", "extract"
  bool is_complete = true;  // all parts of a split file are there
};
std::vector<SnapshotVariant> ListVariants(const std::filesystem::path& snapshot);

// Chooses by the reference's variant, or by preference when there is none; `notice` gets one line when a choice was
// made.
Result<SnapshotVariant> ChooseVariant(const std::vector<SnapshotVariant>& variants, const HfReference& reference,
                                      std::string* notice);

// The quantisation tag of a file name ("gemma-4-E2B_q4_0-it.gguf": "Q4_0"), upper-cased; empty when there is none.
std::string QuantizationTag(std::string_view file_name);

}  // namespace quern::engine
