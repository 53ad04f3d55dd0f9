// Names to model files: the one implementation of the model argument.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include <unistd.h>

#include "quern/alias.h"
#include "quern/model.h"
#include "quern/suggest.h"

#include "engine/hf_cache.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDemoName = "gemma4-nano";

bool LooksLikePath(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text.starts_with("~/") ||
         text.ends_with(".gguf") || text.ends_with(".safetensors");
}

fs::path ExpandHome(std::string_view text) {
  if (!text.starts_with("~/")) return text;
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "/" : home) / text.substr(2);
}

Result<ModelFile> FromPath(std::string_view reference) {
  ModelFile file;
  const fs::path path = ExpandHome(reference);
  std::error_code error;
  if (!fs::exists(path, error)) return Fail(Code::kNotFound, "{} does not exist", path.string());
  file.path = path.string();
  file.reference = reference;
  return file;
}

Result<ModelFile> FromCache(std::string_view typed, const engine::HfReference& reference,
                            const ResolveOptions& options) {
  const fs::path cache = engine::HfCacheDir(options.models_dir);
  ModelFile file;
  file.reference = typed;
  const Result<fs::path> snapshot = engine::FindSnapshot(cache, reference);
  if (!snapshot) {
    return WithHint(tl::unexpected(snapshot.error()),
                    fmt::format("download it with a Hugging Face client (hf download {}/{}), or give a path",
                                reference.owner, reference.name));
  }
  QUERN_ASSIGN_OR_RETURN(const engine::SnapshotVariant variant,
                         engine::ChooseVariant(engine::ListVariants(*snapshot), reference, &file.notice));
  file.path = variant.path.string();
  return file;
}

tl::unexpected<Error> UnknownModel(std::string_view reference, const std::vector<Alias>& aliases) {
  std::vector<std::string> names;
  for (const Alias& alias : aliases) names.push_back(alias.name);
  auto failure = Fail(Code::kNotFound, "\"{}\" is not a model: no such path, alias or owner/name", reference);
  const std::vector<std::string> nearest = NearestNames(reference, names, 3);
  if (nearest.empty()) return WithHint(std::move(failure), "`quern list` shows the models that are here");
  return WithHint(std::move(failure), fmt::format("did you mean {}?", fmt::join(nearest, ", ")));
}

// Where the demo checkpoints may lie: beside an installed binary, or in the checkout that the binary was built in.
std::vector<fs::path> DemoFolders() {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(self.parent_path() / ".." / "share" / "quern" / "models");
    // build/<preset>/cli/quern: the checkout is some levels up.
    fs::path up = self.parent_path();
    for (int level = 0; level < 5 && up.has_parent_path(); ++level, up = up.parent_path())
      folders.push_back(up / "models");
  }
  folders.push_back(QUERN_SOURCE_MODELS);
  return folders;
}

}  // namespace

Result<ModelFile> ResolveModel(std::string_view reference, const ResolveOptions& options) {
  if (reference.empty()) return Fail(Code::kInvalidArgument, "the model's name is empty");
  if (LooksLikePath(reference)) return FromPath(reference);
  QUERN_ASSIGN_OR_RETURN(const std::optional<Alias> alias, FindAlias(DefaultAliasPath(), reference));
  if (alias) {
    if (LooksLikePath(alias->reference)) return FromPath(alias->reference);
    if (const auto target = engine::ParseHfReference(alias->reference)) return FromCache(reference, *target, options);
    return Fail(Code::kInvalidArgument, "alias \"{}\" stands for \"{}\", which is neither a path nor owner/name",
                alias->name, alias->reference);
  }
  std::error_code error;
  if (fs::is_directory(fs::path(reference), error)) {
    QUERN_ASSIGN_OR_RETURN(ModelFile file, FromPath(reference));
    file.notice = fmt::format("using the folder ./{}", reference);
    return file;
  }
  if (const auto parsed = engine::ParseHfReference(reference)) return FromCache(reference, *parsed, options);
  if (reference == kDemoName) return FindDemoModel();
  QUERN_ASSIGN_OR_RETURN(const std::vector<Alias> aliases, ListAliases(DefaultAliasPath()));
  return UnknownModel(reference, aliases);
}

Result<ModelFile> FindDemoModel() {
  std::error_code error;
  for (const fs::path& folder : DemoFolders()) {
    const fs::path model = folder / kDemoName;
    if (!fs::exists(model / "config.json", error)) continue;
    ModelFile file;
    file.path = fs::weakly_canonical(model, error).string();
    file.reference = kDemoName;
    file.is_demo = true;
    return file;
  }
  return WithHint(Fail(Code::kNotFound, "the demo checkpoint {} is not beside this installation", kDemoName),
                  "name a model");
}

Result<std::vector<ListedModel>> ListModels(const ResolveOptions& options) {
  std::vector<ListedModel> models;
  std::error_code error;
  const auto modified = [&](const fs::path& path) {
    const auto time = fs::last_write_time(path, error);
    const auto system = std::chrono::file_clock::to_sys(time);
    return error ? int64_t{0} : std::chrono::duration_cast<std::chrono::seconds>(system.time_since_epoch()).count();
  };
  if (const Result<ModelFile> demo = FindDemoModel()) {
    const fs::path folder = fs::path(demo->path);
    const auto size = static_cast<int64_t>(fs::file_size(folder / "model.safetensors", error));
    models.push_back({demo->reference, "safetensors", "", demo->path, "generate", "complete", size, modified(folder)});
  }
  const fs::path cache = engine::HfCacheDir(options.models_dir);
  if (!fs::is_directory(cache, error)) return models;
  for (const fs::directory_entry& repository : fs::directory_iterator(cache, error)) {
    // models--owner--name
    const std::string folder = repository.path().filename().string();
    constexpr std::string_view kPrefix = "models--";
    if (!folder.starts_with(kPrefix)) continue;
    const size_t split = folder.find("--", kPrefix.size());
    if (split == std::string::npos) continue;
    const std::string name = folder.substr(kPrefix.size(), split - kPrefix.size()) + "/" + folder.substr(split + 2);
    for (const fs::directory_entry& snapshot : fs::directory_iterator(repository.path() / "snapshots", error)) {
      for (const engine::SnapshotVariant& variant : engine::ListVariants(snapshot.path())) {
        models.push_back({name, variant.tag, snapshot.path().filename().string().substr(0, 8), variant.path.string(),
                          variant.task, variant.is_complete ? "complete" : "partial", variant.size_bytes,
                          modified(snapshot.path())});
      }
    }
  }
  std::ranges::sort(models, {},
                    [](const ListedModel& model) { return std::tie(model.name, model.variant, model.revision); });
  return models;
}

}  // namespace quern
