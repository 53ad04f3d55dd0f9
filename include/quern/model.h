// Model: a checkpoint loaded for inference. Where everything starts: resolve a name, load, then generate (generate.h),
// chat (session.h), tokenize, measure.
//
//   QUERN_ASSIGN_OR_RETURN(ModelFile file, ResolveModel("gemma4:e2b", {}));
//   QUERN_ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(file, {}));
//
// A Model is shared and immutable to its users; calls that run the network take their turn inside (one step at a time),
// so any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern {

using TokenId = int32_t;

// ---- Finding a model ----

struct ModelFile {
  std::string path;       // a .gguf file, a Hugging Face folder, or a .safetensors file in such a folder
  std::string reference;  // what the user typed, or the demo model's name
  std::string notice;     // one line to show the user ("using the relative folder ./gemma4"); may be empty
  bool is_demo = false;
};

struct ResolveOptions {
  std::string models_dir;  // empty: environment, then the Hugging Face cache
  bool offline = false;
};

// Resolution order (docs/cli.md, "Model argument"): path, user alias, built-in alias, relative folder with a notice,
// owner/name in the cache; NotFound lists the three nearest aliases. Never uses the network.
Result<ModelFile> ResolveModel(std::string_view reference, const ResolveOptions& options);
// The demo checkpoint that ships with quern: beside the executable (installed), or in the checkout it was built from.
Result<ModelFile> FindDemoModel();

struct ListedModel {
  std::string name;
  std::string variant;   // "Q4_0", "BF16"
  std::string revision;  // first 8 digits, or empty for local files
  std::string path;
  std::string task;   // "generate", "embed", "extract", "draft", "adapter"
  std::string state;  // "complete", "partial"
  int64_t size_bytes = 0;
  int64_t modified_unix_s = 0;
};
// Models in the cache and the demo checkpoints.
Result<std::vector<ListedModel>> ListModels(const ResolveOptions& options);

// ---- Loading ----

// A stage of a long operation; returning false cancels (the operation ends with kCancelled).
struct Progress {
  std::string_view stage;  // "open", "prepare", "quantize", ...
  int64_t done = 0;
  int64_t total = 0;      // 0: not known
  std::string_view unit;  // what `done` counts, in the plural ("chunks"); empty: bytes
};
using ProgressFn = std::function<bool(const Progress&)>;

enum class NumericsMode : uint8_t { kDefault, kExact };
enum class KvType : uint8_t { kF16, kBF16, kF32 };

struct LoadOptions {
  int threads = 0;          // 0: the processors this process may use
  int64_t context = 0;      // positions per sequence; 0: min(model limit, 8192); -1: the model's limit
  int max_sequences = 4;    // sequences whose caches may exist at once (sessions and snapshots)
  int prefill_chunk = 512;  // rows per step while reading a prompt
  KvType kv_type = KvType::kF16;
  NumericsMode numerics = NumericsMode::kDefault;
  int64_t memory_budget_bytes = 0;  // 0: what this process may use; more is refused with ResourceExhausted
  std::string device = "auto";      // "auto" and "cpu"; "cuda" and "metal" are Unsupported in a build without them
  ProgressFn progress;
};

struct SamplingDefaults {
  std::optional<float> temperature, top_p, min_p;
  std::optional<int> top_k;
};

struct ModelInfo {
  std::string reference, path;
  std::string architecture;  // "gemma4", "gemma3"
  std::string name;          // general.name, or the folder's
  std::string quantization;  // "Q4_0", "BF16", "mixed Q4_K/Q6_K"
  std::string device;        // "cpu, 2 threads, avx2"
  std::string chat_format;   // "gemma4"; empty when the model has none
  std::string chat_notice;   // about an untested template; may be empty
  int64_t num_parameters = 0;
  int64_t file_bytes = 0, weight_bytes = 0, cache_bytes = 0, scratch_bytes = 0;  // memory by kind
  int64_t context_limit = 0;                                                     // what the model allows
  int64_t context = 0;                                                           // what was loaded
  int num_layers = 0, hidden_size = 0, vocab_size = 0, sliding_window = 0;
  bool supports_thinking = false, supports_tools = false;
  SamplingDefaults sampling;
  double load_seconds = 0;
};

// Which kernel each product runs and why; counters of everything that was not the first choice.
struct Route {
  std::string tensor, dtype, kernel, numerics, reason;
};

class Model {
 public:
  static Result<std::shared_ptr<Model>> Load(const ModelFile& file, const LoadOptions& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelInfo& info() const;
  std::vector<Route> Routes() const;

  // The implementation, known to the engine only.
  class Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace quern
