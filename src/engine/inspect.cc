// Looking at model files: headers only, nothing is loaded or decoded.
#include "quern/inspect.h"

#include <algorithm>
#include <filesystem>

#include "quern/suggest.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "engine/model_impl.h"
#include "models/registry.h"
#include "ops/cpu/packed_matrix.h"
#include "ops/program/arena_plan.h"

namespace quern {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Strings of a file need not be UTF-8.
std::string Dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

// Elements shown of an array or string that is not asked for in full.
constexpr size_t kShownElems = 8;
constexpr size_t kShownChars = 160;
enum class Length : uint8_t { kAbbreviated, kFull };

OrderedJson ToJson(const format::GgufValue& value, Length length) {
  return std::visit(
      [&](const auto& data) -> OrderedJson {
        using T = std::decay_t<decltype(data)>;
        constexpr bool is_scalar = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
        if constexpr (is_scalar) {
          return data;
        } else {
          OrderedJson array = OrderedJson::array();
          const size_t shown = length == Length::kFull ? data.size() : std::min(data.size(), kShownElems);
          for (size_t i = 0; i < shown; ++i) array.push_back(static_cast<typename T::value_type>(data[i]));
          if (shown < data.size()) array.push_back(fmt::format("... {} in all", data.size()));
          return array;
        }
      },
      value.data);
}

OrderedJson Abbreviate(OrderedJson json) {
  if (json.is_string() && json.get_ref<const std::string&>().size() > kShownChars) {
    const auto& text = json.get_ref<const std::string&>();
    return fmt::format("{}... {} bytes in all", text.substr(0, kShownChars), text.size());
  }
  if (json.is_array() && json.size() > kShownElems + 1) {
    const size_t size = json.size();
    json.erase(json.begin() + kShownElems, json.end());
    json.push_back(fmt::format("... {} in all", size));
  }
  return json;
}

// All metadata of a header: GGUF's keys; of a folder the fields of config.json, and those of generation_config.json
// with that prefix.
std::vector<std::pair<std::string, OrderedJson>> Metadata(const models::CheckpointHeader& header, Length length) {
  std::vector<std::pair<std::string, OrderedJson>> pairs;
  if (header.gguf) {
    for (const auto& [key, value] : header.gguf->metadata()) pairs.emplace_back(key, ToJson(value, length));
  } else {
    for (const auto& [key, value] : header.folder->config.items()) pairs.emplace_back(key, OrderedJson(value));
    if (header.folder->generation_config) {
      for (const auto& [key, value] : header.folder->generation_config->items()) {
        pairs.emplace_back("generation_config." + key, OrderedJson(value));
      }
    }
  }
  return pairs;
}

// A fact and where it stands in either kind of file.
struct FactSource {
  std::string_view label, gguf_key, hf_key;
};
constexpr FactSource kFacts[] = {
    {"layers", "block_count", "num_hidden_layers"},
    {"hidden size", "embedding_length", "hidden_size"},
    {"feed-forward size", "feed_forward_length", "intermediate_size"},
    {"heads", "attention.head_count", "num_attention_heads"},
    {"key/value heads", "attention.head_count_kv", "num_key_value_heads"},
    {"head width", "attention.key_length", "head_dim"},
    {"context limit", "context_length", "max_position_embeddings"},
    {"sliding window", "attention.sliding_window", "sliding_window"},
    {"layers sharing keys/values", "attention.shared_kv_layers", "num_kv_shared_layers"},
    {"per-layer embedding", "embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"experts", "expert_count", "num_experts"},
    {"experts per token", "expert_used_count", "top_k_experts"},
};

Pairs Facts(const models::CheckpointHeader& header) {
  Pairs facts;
  const auto add = [&](std::string_view label, const OrderedJson& value) {
    if (!value.is_null() && value != 0) facts.emplace_back(label, Dump(Abbreviate(value)));
  };
  for (const FactSource& fact : kFacts) {
    if (header.gguf) {
      const auto found =
          header.gguf->metadata().find(fmt::format("{}.{}", header.declared_architecture, fact.gguf_key));
      if (found != header.gguf->metadata().end()) add(fact.label, ToJson(found->second, Length::kFull));
      continue;
    }
    const Json& root = header.folder->config;
    const auto nested = root.find("text_config");
    const Json& config = nested != root.end() && nested->is_object() ? *nested : root;
    const auto found = config.find(fact.hf_key);
    if (found != config.end()) add(fact.label, OrderedJson(*found));
  }
  return facts;
}

const TensorTable& TensorsOf(const models::CheckpointHeader& header) {
  return header.gguf ? header.gguf->tensors() : header.folder->weights.tensors;
}

// Why this build cannot run the model; empty when it can. The step program is built, since that checks every tensor.
std::string WhyUnsupported(const std::string& path) {
  const Result<models::Checkpoint> checkpoint = models::OpenCheckpoint(path);
  if (!checkpoint) return checkpoint.error().message;
  const Result<std::unique_ptr<models::Decoder>> decoder = models::MakeDecoder(*checkpoint);
  if (!decoder) return decoder.error().message;
  const Result<ops::Program> program = (*decoder)->BuildProgram({});
  return program ? std::string() : program.error().message;
}

std::string ChatTemplate(const models::CheckpointHeader& header) {
  if (header.gguf) {
    const auto text = header.gguf->GetString("tokenizer.chat_template");
    return text && *text ? **text : std::string();
  }
  if (header.folder->tokenizer_config) {
    const auto found = header.folder->tokenizer_config->find("chat_template");
    if (found != header.folder->tokenizer_config->end() && found->is_string()) return found->get<std::string>();
  }
  return ReadFile(header.folder->path / "chat_template.jinja").value_or("");
}

std::string License(const models::CheckpointHeader& header) {
  if (!header.gguf) return ReadFile(header.folder->path / "LICENSE").value_or("");
  const auto text = header.gguf->GetString("general.license");
  return text && *text ? **text : std::string();
}

std::vector<std::filesystem::path> FilesOf(const models::CheckpointHeader& header) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : TensorsOf(header).files) paths.push_back(file->path());
  if (!header.folder) return paths;
  std::error_code error;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer.model",
                           "tokenizer_config.json", "chat_template.jinja"}) {
    if (std::filesystem::exists(header.folder->path / name, error)) paths.push_back(header.folder->path / name);
  }
  return paths;
}

}  // namespace

Result<InspectedModel> InspectModel(const ModelFile& file) {
  QUERN_ASSIGN_OR_RETURN(const models::CheckpointHeader header, models::OpenHeader(file.path));
  const TensorTable& tensors = TensorsOf(header);
  InspectedModel model;
  model.format = header.gguf ? fmt::format("GGUF v{}", header.gguf->version()) : "safetensors";
  model.architecture = header.declared_architecture;
  model.name = header.name;
  model.quantization = models::DescribeQuantization(tensors);
  model.support = WhyUnsupported(file.path);
  for (const auto& [name, view] : tensors.tensors) {
    InspectedTensor tensor{name, std::string(NameOf(view.dtype)), {}, view.num_bytes()};
    for (int axis = 0; axis < view.shape.rank(); ++axis) tensor.shape.push_back(view.shape[axis]);
    model.num_parameters += view.shape.num_elems();
    model.tensors.push_back(std::move(tensor));
  }
  for (const auto& mapped : tensors.files) model.file_bytes += static_cast<int64_t>(mapped->bytes().size());
  model.facts = Facts(header);
  for (auto& [key, value] : Metadata(header, Length::kAbbreviated))
    model.metadata.emplace_back(key, Dump(Abbreviate(std::move(value))));
  model.chat_template = ChatTemplate(header);
  model.license = License(header);
  return model;
}

Result<std::string> InspectMetadata(const ModelFile& file, std::string_view key) {
  QUERN_ASSIGN_OR_RETURN(const models::CheckpointHeader header, models::OpenHeader(file.path));
  std::vector<std::string> keys;
  for (auto& [name, value] : Metadata(header, Length::kFull)) {
    if (name == key) return Dump(value);
    keys.push_back(name);
  }
  const std::vector<std::string> nearest = NearestNames(key, keys, 3);
  auto failure = Fail(Code::kNotFound, "{} has no metadata \"{}\"", file.path, key);
  if (nearest.empty()) return failure;
  return WithHint(std::move(failure), fmt::format("did you mean {}?", fmt::join(nearest, ", ")));
}

Result<MemoryNeed> EstimateMemory(const ModelFile& file, int64_t context, int sequences) {
  QUERN_ASSIGN_OR_RETURN(const models::Checkpoint checkpoint, models::OpenCheckpoint(file.path));
  QUERN_ASSIGN_OR_RETURN(const std::unique_ptr<models::Decoder> decoder, models::MakeDecoder(checkpoint));
  QUERN_ASSIGN_OR_RETURN(const ops::Program program, decoder->BuildProgram({}));
  if (sequences < 1) return Fail(Code::kInvalidArgument, "{} sequences; at least 1", sequences);
  const int64_t limit = decoder->info().context_limit;
  const int64_t positions = engine::EffectiveContext(context, limit);
  if (positions < 1 || positions > limit) {
    return Fail(Code::kInvalidArgument, "context {} is outside 1 to {}, the model's limit", positions, limit);
  }
  MemoryNeed need;
  for (const ops::WeightSpec& weight : program.weights) {
    const TensorView& view = weight.view;
    need.weight_bytes += view.num_bytes();
    if (weight.use == ops::WeightUse::kVector) {
      need.packed_bytes += view.shape.num_elems() * static_cast<int64_t>(sizeof(float));
    } else if (weight.use != ops::WeightUse::kTable) {
      need.packed_bytes += ops::cpu::PackedBytes(view.dtype, view.num_rows(), view.row_elems());
    }
  }
  const LoadOptions defaults;
  runtime::KvCacheOptions cache;
  cache.dtype = DType::kF16;
  cache.context = positions;
  cache.max_sequences = sequences;
  cache.max_step_rows = static_cast<int>(std::min<int64_t>(defaults.prefill_chunk, positions));
  need.cache_bytes = runtime::KvCache::NumBytes(program.kv, cache);
  const int max_kept = engine::MaxKeptRows(program.vocab_size, cache.max_step_rows);
  need.scratch_bytes =
      ops::PlanArena(program, cache.max_step_rows, max_kept).size_floats * static_cast<int64_t>(sizeof(float));
  return need;
}

Result<Pairs> HashModel(const ModelFile& file) {
  QUERN_ASSIGN_OR_RETURN(const models::CheckpointHeader header, models::OpenHeader(file.path));
  Pairs hashes;
  for (const std::filesystem::path& path : FilesOf(header)) {
    QUERN_ASSIGN_OR_RETURN(std::string hash, Sha256HexOfFile(path));
    hashes.emplace_back(path.string(), std::move(hash));
  }
  return hashes;
}

}  // namespace quern
