#include "engine/hf_cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>

#include "base/file.h"

namespace quern::engine {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

bool IsTaskFile(std::string_view name, std::string_view prefix) {
  return Upper(name).find(Upper(prefix)) != std::string::npos;
}

// "model-00002-of-00003.gguf": its stem, part and count.
struct SplitName {
  std::string stem;
  int part = 1, count = 1;
};
SplitName ParseSplit(const std::string& stem) {
  // "-00001-of-00003" is 15 characters.
  if (stem.size() > 15 && stem.compare(stem.size() - 9, 4, "-of-") == 0 && stem[stem.size() - 15] == '-') {
    const std::string part = stem.substr(stem.size() - 14, 5), count = stem.substr(stem.size() - 5);
    const auto digits = [](const std::string& text) {
      return std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
    };
    if (digits(part) && digits(count))
      return {stem.substr(0, stem.size() - 15), std::atoi(part.c_str()), std::atoi(count.c_str())};
  }
  return {stem, 1, 1};
}

std::string TaskOf(std::string_view file_name) {
  if (IsTaskFile(file_name, "mmproj")) return "projector";
  if (IsTaskFile(file_name, "mtp-") || IsTaskFile(file_name, "assistant")) return "draft";
  if (IsTaskFile(file_name, "bge-m3")) return "embed";
  if (IsTaskFile(file_name, "gliner")) return "extract";
  return "generate";
}

}  // namespace

fs::path HfCacheDir(const std::string& models_dir) {
  if (!models_dir.empty()) return models_dir;
  for (const char* name : {"QUERN_MODELS_DIR", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const std::string value = Environment(name); !value.empty()) return value;
  }
  if (const std::string home = Environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  if (const std::string cache = Environment("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "huggingface" / "hub";
  return fs::path(Environment("HOME")) / ".cache" / "huggingface" / "hub";
}

std::optional<HfReference> ParseHfReference(std::string_view text) {
  if (text.starts_with("hf:")) text.remove_prefix(3);
  HfReference reference;
  reference.revision = "main";
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    reference.revision = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  if (const size_t colon = text.find(':', slash); colon != std::string_view::npos) {
    reference.variant = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  reference.owner = text.substr(0, slash);
  reference.name = text.substr(slash + 1);
  const auto plain = [](const std::string& part) {
    return !part.empty() && part.front() != '.' && std::ranges::all_of(part, [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
    });
  };
  if (!plain(reference.owner) || !plain(reference.name) || !plain(reference.revision)) return std::nullopt;
  return reference;
}

Result<fs::path> FindSnapshot(const fs::path& cache, const HfReference& reference) {
  const fs::path repository = cache / fmt::format("models--{}--{}", reference.owner, reference.name);
  std::error_code error;
  std::string commit = reference.revision;
  if (const fs::path ref = repository / "refs" / reference.revision; fs::exists(ref, error)) {
    QUERN_ASSIGN_OR_RETURN(commit, ReadFile(ref, 256));
    while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back()))) commit.pop_back();
    // The file is another program's: only a plain name may become part of a path.
    if (!std::ranges::all_of(commit, [](unsigned char c) { return std::isxdigit(c); })) {
      return Fail(Code::kCorrupt, "{} does not hold a commit", ref.string());
    }
  }
  const fs::path snapshot = repository / "snapshots" / commit;
  if (fs::is_directory(snapshot, error)) return snapshot;
  return Fail(Code::kNotFound, "{}/{}@{} is not in the cache {}", reference.owner, reference.name, reference.revision,
              cache.string());
}

std::string QuantizationTag(std::string_view file_name) {
  // Longest spellings first, so that Q4_K_M is not read as Q4_K. A tag stands between separators.
  constexpr std::array kTags = {
      "UD-Q8_K_XL", "UD-Q6_K_XL", "UD-Q5_K_XL", "UD-Q4_K_XL", "UD-Q3_K_XL", "UD-Q2_K_XL", "Q2_K_S", "Q2_K_L", "Q3_K_S",
      "Q3_K_M",     "Q3_K_L",     "Q4_K_S",     "Q4_K_M",     "Q4_K_L",     "Q5_K_S",     "Q5_K_M", "Q6_K_L", "IQ4_NL",
      "IQ4_XS",     "MXFP4",      "BF16",       "Q2_K",       "Q3_K",       "Q4_K",       "Q5_K",   "Q6_K",   "Q4_0",
      "Q4_1",       "Q5_0",       "Q5_1",       "Q8_0",       "F16",        "F32"};
  const std::string name = Upper(file_name);
  const auto separates = [&](size_t at) {
    return at >= name.size() || name[at] == '-' || name[at] == '_' || name[at] == '.';
  };
  for (const std::string_view tag : kTags) {
    for (size_t at = name.find(tag); at != std::string::npos; at = name.find(tag, at + 1)) {
      if ((at == 0 || separates(at - 1)) && separates(at + tag.size())) return std::string(tag);
    }
  }
  return "";
}

std::vector<SnapshotVariant> ListVariants(const fs::path& snapshot) {
  struct Group {
    fs::path first;
    int64_t bytes = 0;
    int parts = 0, count = 1;
  };
  std::map<std::string, Group> groups;
  std::vector<SnapshotVariant> variants;
  int64_t safetensors_bytes = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(snapshot, error)) {
    const fs::path& path = entry.path();
    const auto size = static_cast<int64_t>(fs::file_size(path, error));
    if (error) continue;  // a link without a target: not downloaded
    if (path.extension() == ".safetensors") safetensors_bytes += size;
    if (path.extension() != ".gguf") continue;
    const SplitName split = ParseSplit(path.stem().string());
    Group& group = groups[split.stem];
    group.bytes += size;
    group.count = split.count;
    ++group.parts;
    if (split.part == 1) group.first = path;
  }
  for (const auto& [stem, group] : groups) {
    const std::string tag = QuantizationTag(stem + ".gguf");
    variants.push_back({tag.empty() ? "gguf" : tag, group.first, group.bytes, TaskOf(stem),
                        group.parts == group.count && !group.first.empty()});
  }
  if (safetensors_bytes > 0 && fs::exists(snapshot / "config.json", error)) {
    // models--owner--name/snapshots/commit: the repository's name says what it is for.
    const std::string repository = snapshot.parent_path().parent_path().filename().string();
    variants.push_back({"safetensors", snapshot, safetensors_bytes, TaskOf(repository), true});
  }
  return variants;
}

Result<SnapshotVariant> ChooseVariant(const std::vector<SnapshotVariant>& variants, const HfReference& reference,
                                      std::string* notice) {
  std::vector<const SnapshotVariant*> candidates;
  std::string listing;
  for (const SnapshotVariant& variant : variants) {
    if (variant.task == "projector") continue;
    listing += fmt::format("{}{} ({:.2f} GB)", listing.empty() ? "" : ", ", variant.tag,
                           static_cast<double>(variant.size_bytes) / 1e9);
    const std::string file_name = variant.path.filename().string();
    const bool wanted = reference.variant.empty() || Upper(reference.variant) == Upper(variant.tag) ||
                        reference.variant == file_name ||
                        (Upper(reference.variant) == "GGUF" && variant.path.extension() == ".gguf");
    if (wanted && (variant.task != "draft" || reference.variant == file_name || variants.size() == 1))
      candidates.push_back(&variant);
  }
  const std::string repository = reference.owner + "/" + reference.name;
  const SnapshotVariant* chosen = candidates.size() == 1 ? candidates.front() : nullptr;
  if (chosen == nullptr && !candidates.empty()) {
    std::vector<std::string> preference = {"Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q6_K", "Q8_0", "BF16", "F16"};
    if (Upper(reference.name).find("QAT") != std::string::npos) preference.insert(preference.begin(), "Q4_0");
    for (const std::string& tag : preference) {
      const auto found =
          std::ranges::find(candidates, tag, [](const SnapshotVariant* variant) { return variant->tag; });
      if (found == candidates.end()) continue;
      chosen = *found;
      *notice = fmt::format("{} has {} variants here; using {}", repository, candidates.size(), tag);
      break;
    }
  }
  if (chosen == nullptr) {
    return Fail(Code::kNotFound, "{}: {} variant \"{}\"; in the cache: {}", repository,
                candidates.empty() ? "no" : "more than one", reference.variant, listing.empty() ? "nothing" : listing);
  }
  if (!chosen->is_complete)
    return Fail(Code::kNotFound, "{}: variant {} is only partly in the cache", repository, chosen->tag);
  return *chosen;
}

}  // namespace quern::engine
