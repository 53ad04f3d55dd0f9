// Flags of every command that loads a model, and the loading itself: resolve, notice, progress, cancel.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "quern/generate.h"

#include "cli/flags.h"
#include "cli/invocation.h"

namespace quern::cli {

// --threads, --ctx, --kv-type, --numerics, --memory-budget, --prefill-chunk (settings), and the flags of the full
// grammar that this build refuses (speculation, adapters, residency, JIT).
class ModelFlags {
 public:
  void Add(CLI::App& app, SettingFlags& settings);
  // Unsupported when a missing flag was used.
  Status Check() const { return missing_.Check(); }

 private:
  MissingFlags missing_;
};

LoadOptions LoadOptionsFrom(const Config& config);

// Ctrl-C during a load ends it with kCancelled.
Result<std::shared_ptr<Model>> LoadModel(Invocation& in, const ModelFile& file, LoadOptions options);
// ResolveModel with its notice shown.
Result<ModelFile> Resolve(Invocation& in, const std::string& reference);
// The same for a MODEL argument that may be left out: then general.default_model, then the demo checkpoint, about which
// `notice` says what it is.
using NoticeFn = std::function<void(const std::string&)>;
Result<ModelFile> ResolveOrDefault(Invocation& in, const std::string& reference, const NoticeFn& notice);
inline constexpr const char* kModelOrDefaultHelp =
    "model; default: default_model of the configuration, else the demo model";

// A progress function for a long operation: shows it, and asks to stop after Ctrl-C.
ProgressFn ShowProgress(ProgressDisplay& display);

}  // namespace quern::cli
