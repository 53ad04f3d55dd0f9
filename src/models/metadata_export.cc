// The documents of a converted checkpoint: GGUF metadata, or config.json and its companions.
#include <algorithm>

#include "base/file.h"
#include "format/vocabulary_writer.h"
#include "models/gemma3/config.h"
#include "models/gemma3/gguf_metadata.h"
#include "models/gemma3/hf_config.h"
#include "models/gemma4/config.h"
#include "models/gemma4/gguf_metadata.h"
#include "models/gemma4/hf_config.h"
#include "models/tensor_export.h"

namespace quern::models {
namespace {

// The tokenizer with what the sidecar documents of a folder add: ids that end generation and ids that never come.
Result<format::Vocabulary> CompleteVocabulary(const Checkpoint& checkpoint, const GenerationDefaults& defaults) {
  QUERN_ASSIGN_OR_RETURN(format::Vocabulary vocabulary, ReadVocabulary(checkpoint));
  const auto is_id = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < vocabulary.pieces.size(); };
  for (const int32_t id : defaults.end_ids) {
    if (!is_id(id)) continue;
    if (!vocabulary.eos) vocabulary.eos = id;
    if (!vocabulary.eot && id != vocabulary.eos) vocabulary.eot = id;
  }
  for (const int32_t id : defaults.suppress) {
    if (is_id(id) && std::ranges::find(vocabulary.suppress, id) == vocabulary.suppress.end())
      vocabulary.suppress.push_back(id);
  }
  return vocabulary;
}

void CopyMetadata(const format::GgufFile& file, format::GgufWriter* writer) {
  // The architecture first, as every reader expects it.
  const auto architecture = file.metadata().find("general.architecture");
  if (architecture != file.metadata().end()) writer->Set(architecture->first, architecture->second);
  for (const auto& [key, value] : file.metadata()) {
    const bool is_about_types = key == "general.file_type" || key == "general.quantization_version" ||
                                key == "general.alignment" || key.starts_with("quantize.imatrix.");
    if (!is_about_types) writer->Set(key, value);
  }
}

void WriteSampling(const GenerationDefaults& defaults, format::GgufWriter* writer) {
  if (defaults.top_k) {
    format::GgufValue value;
    value.type = format::GgufType::kInt32;
    value.data = int64_t{*defaults.top_k};
    writer->Set("general.sampling.top_k", value);
  }
  if (defaults.top_p) writer->SetFloat32("general.sampling.top_p", *defaults.top_p);
  if (defaults.min_p) writer->SetFloat32("general.sampling.min_p", *defaults.min_p);
  if (defaults.temperature) writer->SetFloat32("general.sampling.temp", *defaults.temperature);
}

Result<OrderedJson> HfConfig(const Checkpoint& checkpoint) {
  const TensorView* embedding = checkpoint.tensors.Find("token_embd.weight");
  if (embedding == nullptr) return Fail(Code::kCorrupt, "token_embd.weight is missing");
  const int64_t vocab_size = embedding->shape[0];
  if (checkpoint.architecture == "gemma3") {
    QUERN_ASSIGN_OR_RETURN(const auto config, gemma3::Gemma3Config::FromGguf(*checkpoint.gguf));
    return gemma3::ToHfConfig(config, vocab_size);
  }
  QUERN_ASSIGN_OR_RETURN(auto config, gemma4::Gemma4Config::FromGguf(*checkpoint.gguf));
  const TensorView* factors = checkpoint.tensors.Find("rope_freqs.weight");
  if (factors != nullptr) QUERN_TRY(gemma4::TakeRotatedSpan(*factors, &config));
  return gemma4::ToHfConfig(config, vocab_size);
}

OrderedJson GenerationConfig(const format::Vocabulary& vocabulary, const GenerationDefaults& defaults) {
  OrderedJson json;
  if (vocabulary.bos) json["bos_token_id"] = *vocabulary.bos;
  OrderedJson ends = OrderedJson::array();
  if (vocabulary.eos) ends.push_back(*vocabulary.eos);
  if (vocabulary.eot) ends.push_back(*vocabulary.eot);
  json["eos_token_id"] = std::move(ends);
  if (vocabulary.pad) json["pad_token_id"] = *vocabulary.pad;
  if (defaults.temperature) json["temperature"] = *defaults.temperature;
  if (defaults.top_k) json["top_k"] = *defaults.top_k;
  if (defaults.top_p) json["top_p"] = *defaults.top_p;
  if (defaults.min_p) json["min_p"] = *defaults.min_p;
  if (!vocabulary.suppress.empty()) json["suppress_tokens"] = vocabulary.suppress;
  return json;
}

// The files of a folder that say nothing about types are taken over as they are.
Status CopyCompanions(const std::filesystem::path& from, const std::filesystem::path& to) {
  constexpr size_t kMaxBytes = size_t{256} << 20;
  for (const char* name : {"generation_config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json",
                           "chat_template.jinja", "special_tokens_map.json", "LICENSE"}) {
    Result<std::string> text = ReadFile(from / name, kMaxBytes);
    if (!text && text.error().code == Code::kNotFound) continue;
    if (!text) return tl::unexpected(text.error());
    QUERN_TRY(WriteFileAtomically(to / name, *text));
  }
  return {};
}

}  // namespace

Status WriteGgufMetadata(const Checkpoint& checkpoint, format::GgufWriter* writer) {
  if (checkpoint.is_gguf()) {
    CopyMetadata(*checkpoint.gguf, writer);
    return {};
  }
  writer->SetString("general.architecture", checkpoint.architecture);
  writer->SetString("general.type", "model");
  writer->SetString("general.name", checkpoint.name);
  QUERN_ASSIGN_OR_RETURN(const GenerationDefaults defaults, ReadGenerationDefaults(checkpoint));
  WriteSampling(defaults, writer);
  if (checkpoint.architecture == "gemma3") {
    QUERN_ASSIGN_OR_RETURN(const auto config, gemma3::Gemma3Config::FromJson(checkpoint.folder->config));
    QUERN_TRY(gemma3::WriteGgufMetadata(config, writer));
  } else {
    QUERN_ASSIGN_OR_RETURN(const auto config, gemma4::Gemma4Config::FromJson(checkpoint.folder->config));
    QUERN_TRY(gemma4::WriteGgufMetadata(config, writer));
  }
  QUERN_ASSIGN_OR_RETURN(const format::Vocabulary vocabulary, CompleteVocabulary(checkpoint, defaults));
  return format::WriteGgufVocabulary(vocabulary, writer);
}

Status WriteHfDocuments(const Checkpoint& checkpoint, const std::filesystem::path& folder,
                        std::string_view dtype_name) {
  OrderedJson config;
  if (checkpoint.is_gguf()) {
    QUERN_ASSIGN_OR_RETURN(config, HfConfig(checkpoint));
    QUERN_ASSIGN_OR_RETURN(const GenerationDefaults defaults, ReadGenerationDefaults(checkpoint));
    QUERN_ASSIGN_OR_RETURN(const format::Vocabulary vocabulary, CompleteVocabulary(checkpoint, defaults));
    QUERN_TRY(format::WriteHfVocabulary(vocabulary, folder));
    QUERN_TRY(
        WriteFileAtomically(folder / "generation_config.json", GenerationConfig(vocabulary, defaults).dump(2) + "\n"));
  } else {
    config = OrderedJson(checkpoint.folder->config);
    QUERN_TRY(CopyCompanions(checkpoint.folder->path, folder));
  }
  if (config.contains("torch_dtype")) config.erase("torch_dtype");  // the older spelling
  config["dtype"] = dtype_name;
  return WriteFileAtomically(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace quern::models
