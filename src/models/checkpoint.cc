#include "models/checkpoint.h"

#include <algorithm>
#include <map>

#include "models/json_fields.h"
#include "models/registry.h"

namespace quern::models {
namespace {

// What a declared architecture means for this build.
struct KnownArchitecture {
  std::string_view declared;  // general.architecture, or model_type
  std::string_view family;    // empty: not a model this build runs
  std::string_view refusal;   // why not
};
constexpr KnownArchitecture kKnown[] = {
    {"gemma4", "gemma4", ""},
    {"gemma4_text", "gemma4", ""},
    {"gemma4_unified", "gemma4", ""},
    {"gemma4_unified_text", "gemma4", ""},
    {"gemma3", "gemma3", ""},
    {"gemma3_text", "gemma3", ""},
    {"gemma4_assistant", "", "a drafter, not a model: it has no key/value layers of its own; give it with --draft"},
    {"gemma4-assistant", "", "a drafter, not a model: it has no key/value layers of its own; give it with --draft"},
    {"gemma4_mtp", "", "a drafter, not a model: it has no key/value layers of its own; give it with --draft"},
    {"gemma4_unified_assistant", "",
     "a drafter, not a model: it has no key/value layers of its own; give it with --draft"},
};

Result<std::string> DeclaredArchitecture(const CheckpointHeader& header) {
  if (header.gguf) {
    QUERN_ASSIGN_OR_RETURN(const auto name, header.gguf->GetString("general.architecture"));
    if (!name) return Fail(Code::kCorrupt, "metadata general.architecture is missing");
    return *name;
  }
  QUERN_ASSIGN_OR_RETURN(const auto type, JsonFields(header.folder->config, "config.json").String("model_type"));
  if (!type) return Fail(Code::kCorrupt, "config.json: \"model_type\" is missing");
  return *type;
}

}  // namespace

Result<CheckpointHeader> OpenHeader(const std::filesystem::path& path) {
  CheckpointHeader header;
  header.path = path.string();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return Fail(Code::kNotFound, "{} does not exist", path.string());
  if (std::filesystem::is_directory(status) || path.extension() == ".safetensors") {
    const auto folder = std::filesystem::is_directory(status) ? path : path.parent_path();
    QUERN_ASSIGN_OR_RETURN(header.folder, format::OpenHfFolder(folder, format::WithWeights::kYes));
    header.name = std::filesystem::weakly_canonical(folder, error).filename().string();
  } else {
    QUERN_ASSIGN_OR_RETURN(header.gguf, format::GgufFile::Open(path));
    QUERN_ASSIGN_OR_RETURN(const auto name, header.gguf->GetString("general.name"));
    header.name = name.value_or(path.stem().string());
  }
  QUERN_ASSIGN_OR_RETURN(header.declared_architecture, DeclaredArchitecture(header));
  return header;
}

Result<Checkpoint> OpenCheckpoint(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(CheckpointHeader header, OpenHeader(path));
  const auto known = std::ranges::find(kKnown, header.declared_architecture, &KnownArchitecture::declared);
  if (known == std::end(kKnown)) {
    return WithHint(Fail(Code::kUnsupported, "{}: architecture \"{}\" is not one this build runs", path.string(),
                         header.declared_architecture),
                    "gemma4 and gemma3 text models are");
  }
  if (!known->refusal.empty()) {
    return Fail(Code::kUnsupported, "{}: \"{}\" is {}", path.string(), header.declared_architecture, known->refusal);
  }
  Checkpoint checkpoint;
  checkpoint.path = header.path;
  checkpoint.architecture = known->family;
  checkpoint.name = header.name;
  checkpoint.gguf = std::move(header.gguf);
  checkpoint.folder = std::move(header.folder);
  if (checkpoint.gguf) {
    checkpoint.tensors = checkpoint.gguf->tensors();
    return checkpoint;
  }
  const TensorTable& named = checkpoint.folder->weights.tensors;
  checkpoint.tensors.files = named.files;
  for (const auto& [name, view] : named.tensors) {
    const std::optional<std::string> canonical = CanonicalTensorName(checkpoint.architecture, name);
    if (!canonical) continue;
    if (!checkpoint.tensors.tensors.emplace(*canonical, view).second) {
      return Fail(Code::kCorrupt, "{}: two tensors stand for {}, one of them {}", path.string(), *canonical, name);
    }
  }
  return checkpoint;
}

Result<GenerationDefaults> ReadGenerationDefaults(const Checkpoint& checkpoint) {
  GenerationDefaults defaults;
  if (checkpoint.gguf) {
    const format::GgufFile& file = *checkpoint.gguf;
    QUERN_ASSIGN_OR_RETURN(const auto temperature, file.GetFloat("general.sampling.temp"));
    QUERN_ASSIGN_OR_RETURN(const auto top_p, file.GetFloat("general.sampling.top_p"));
    QUERN_ASSIGN_OR_RETURN(const auto min_p, file.GetFloat("general.sampling.min_p"));
    QUERN_ASSIGN_OR_RETURN(const auto top_k, file.GetInt("general.sampling.top_k"));
    if (temperature) defaults.temperature = static_cast<float>(*temperature);
    if (top_p) defaults.top_p = static_cast<float>(*top_p);
    if (min_p) defaults.min_p = static_cast<float>(*min_p);
    if (top_k) defaults.top_k = static_cast<int>(std::clamp<int64_t>(*top_k, 0, 1 << 20));
    return defaults;
  }
  constexpr int64_t kMaxId = 1 << 24;
  const auto append_ids = [&](const JsonFields& fields, std::string_view key, std::vector<int32_t>* ids) -> Status {
    QUERN_ASSIGN_OR_RETURN(const auto values, fields.IntOrInts(key, 0, kMaxId));
    ids->insert(ids->end(), values.begin(), values.end());
    return {};
  };
  QUERN_TRY(append_ids(JsonFields(checkpoint.folder->config, "config.json"), "eos_token_id", &defaults.end_ids));
  if (!checkpoint.folder->generation_config) return defaults;
  const JsonFields fields(*checkpoint.folder->generation_config, "generation_config.json");
  QUERN_TRY(append_ids(fields, "eos_token_id", &defaults.end_ids));
  QUERN_TRY(append_ids(fields, "suppress_tokens", &defaults.suppress));
  QUERN_ASSIGN_OR_RETURN(const auto temperature, fields.Float("temperature", 0, 100));
  QUERN_ASSIGN_OR_RETURN(const auto top_p, fields.Float("top_p", 0, 1));
  QUERN_ASSIGN_OR_RETURN(const auto min_p, fields.Float("min_p", 0, 1));
  QUERN_ASSIGN_OR_RETURN(const auto top_k, fields.Int("top_k", 0, 1 << 20));
  if (temperature) defaults.temperature = static_cast<float>(*temperature);
  if (top_p) defaults.top_p = static_cast<float>(*top_p);
  if (min_p) defaults.min_p = static_cast<float>(*min_p);
  if (top_k) defaults.top_k = static_cast<int>(*top_k);
  return defaults;
}

Result<format::Vocabulary> ReadVocabulary(const Checkpoint& checkpoint) {
  if (checkpoint.gguf) return format::ReadGgufVocabulary(*checkpoint.gguf);
  const std::filesystem::path folder = checkpoint.folder->path;
  std::error_code error;
  if (std::filesystem::exists(folder / "tokenizer.json", error))
    return format::ReadTokenizerJson(folder / "tokenizer.json");
  if (std::filesystem::exists(folder / "tokenizer.model", error))
    return format::ReadSentencePieceModel(folder / "tokenizer.model");
  return WithHint(Fail(Code::kNotFound, "{} has neither tokenizer.json nor tokenizer.model", folder.string()),
                  "copy the tokenizer of the original model into the folder");
}

std::string DescribeQuantization(const TensorTable& tensors) {
  std::map<DType, int64_t> bytes;
  for (const auto& [name, view] : tensors.tensors) {
    if (view.shape.rank() >= 2) bytes[view.dtype] += view.num_bytes();
  }
  std::vector<std::pair<int64_t, DType>> order;
  int64_t total = 0;
  for (const auto& [dtype, count] : bytes) {
    order.emplace_back(count, dtype);
    total += count;
  }
  std::ranges::sort(order, std::greater<>{});
  // Types below 1 % (a router in F32) do not make a file mixed.
  std::erase_if(order, [&](const auto& entry) { return entry.first * 100 < total; });
  if (order.empty()) return "none";
  if (order.size() == 1) return std::string(NameOf(order[0].second));
  std::string text = "mixed ";
  for (size_t i = 0; i < order.size() && i < 3; ++i) text += (i > 0 ? "/" : "") + std::string(NameOf(order[i].second));
  return text;
}

}  // namespace quern::models
