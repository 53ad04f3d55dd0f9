#include "make_model/synthetic_model.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/thread_team.h"
#include "format/gguf_writer.h"
#include "format/vocabulary_writer.h"
#include "make_model/random_blocks.h"
#include "make_model/synthetic_vocabulary.h"
#include "models/gemma4/gguf_metadata.h"

namespace quern::tools {
namespace {

using models::ExportTensor;
using models::gemma4::Gemma4Config;
using models::gemma4::LayerConfig;
using models::gemma4::LayerType;

// The fields that differ between the published sizes (docs/models/gemma4.md, "Configurations").
struct Preset {
  std::string_view name;
  int num_layers, period;  // every period-th layer is full
  int hidden, heads, kv_heads, global_kv_heads;
  bool k_eq_v;
  int intermediate;
  bool double_wide;
  int num_shared, ple_width, window, context;
  int num_experts, top_k, expert_intermediate;
};
constexpr Preset kPresets[] = {
    {"E2B", 35, 5, 1536, 8, 1, 0, false, 6144, true, 20, 256, 512, 131072, 0, 0, 0},
    {"E4B", 42, 6, 2560, 8, 2, 0, false, 10240, false, 18, 256, 512, 131072, 0, 0, 0},
    {"26B-A4B", 30, 6, 2816, 16, 8, 2, true, 2112, false, 0, 0, 1024, 262144, 128, 8, 704},
    {"31B", 60, 6, 5376, 32, 16, 4, true, 21504, false, 0, 0, 1024, 262144, 0, 0, 0},
};
constexpr int kVocab = 262144;

// The layers that keep their own K/V: in proportion, and at least one of each type.
int FirstShared(const Preset& preset, int num_layers) {
  if (preset.num_shared == 0) return num_layers;
  const int shared = preset.num_shared * num_layers / preset.num_layers;
  return std::clamp(num_layers - shared, std::min(preset.period, num_layers), num_layers);
}

struct Value {
  double mean = 0, stddev = 0;
};

// Builds the list of tensors with the distribution of each.
class TensorList {
 public:
  explicit TensorList(const Gemma4Config& config) : c_(config) {
    const int64_t d = c_.hidden_size;
    Matrix("token_embd.weight", {kVocab, d}, 2.5 / std::sqrt(d));
    if (c_.ple_width > 0) {
      const int64_t width = int64_t{c_.num_layers()} * c_.ple_width;
      Matrix("per_layer_token_embd.weight", {kVocab, width}, 1 / std::sqrt(c_.ple_width));
      Matrix("per_layer_model_proj.weight", {width, d});
      Vector("per_layer_proj_norm.weight", c_.ple_width);
    }
    Vector("output_norm.weight", d);
    AddRopeFreqs();
    for (int layer = 0; layer < c_.num_layers(); ++layer) AddLayer(layer);
  }
  std::vector<ExportTensor> tensors;
  std::vector<Value> values;  // same order

 private:
  void Add(std::string name, const Shape& shape, Value value) {
    ExportTensor tensor;
    tensor.name = tensor.canonical = std::move(name);
    tensor.shape = shape;
    tensors.push_back(std::move(tensor));
    values.push_back(value);
  }
  void Matrix(std::string name, const Shape& shape, double stddev = 0) {
    Add(std::move(name), shape, {0, stddev > 0 ? stddev : 1 / std::sqrt(static_cast<double>(shape.back()))});
  }
  void Vector(std::string name, int64_t width, double mean = 1) { Add(std::move(name), {width}, {mean, 0.1 * mean}); }

  void AddRopeFreqs() {
    std::vector<float> factors = models::gemma4::RopeFreqs(c_);
    Add("rope_freqs.weight", {static_cast<int64_t>(factors.size())}, {});
    tensors.back().generated = std::move(factors);
  }

  void AddLayer(int layer) {
    const LayerConfig& c = c_.layers[static_cast<size_t>(layer)];
    const int64_t d = c_.hidden_size, q = int64_t{c_.num_heads} * c.head_dim, kv = int64_t{c.num_kv_heads} * c.head_dim;
    const auto name = [&](std::string_view suffix) { return fmt::format("blk.{}.{}", layer, suffix); };
    Vector(name("attn_norm.weight"), d);
    Matrix(name("attn_q.weight"), {q, d});
    Vector(name("attn_q_norm.weight"), c.head_dim);
    if (c_.owns_kv(layer)) {
      Matrix(name("attn_k.weight"), {kv, d});
      Vector(name("attn_k_norm.weight"), c.head_dim, 0.125);
      if (!c_.k_eq_v || c.type == LayerType::kSliding) Matrix(name("attn_v.weight"), {kv, d});
    }
    Matrix(name("attn_output.weight"), {d, q});
    Vector(name("post_attention_norm.weight"), d);
    Vector(name("ffn_norm.weight"), d);
    Matrix(name("ffn_gate.weight"), {c.intermediate, d});
    Matrix(name("ffn_up.weight"), {c.intermediate, d});
    Matrix(name("ffn_down.weight"), {d, c.intermediate});
    Vector(name("post_ffw_norm.weight"), d);
    Vector(name("layer_output_scale.weight"), 1, 0.8);
    if (c_.num_experts > 0) AddExperts(name);
    if (c_.ple_width > 0) {
      Matrix(name("inp_gate.weight"), {c_.ple_width, d});
      Matrix(name("proj.weight"), {d, c_.ple_width});
      Vector(name("post_norm.weight"), d);
    }
  }

  template <typename Name>
  void AddExperts(const Name& name) {
    const int64_t d = c_.hidden_size, f = c_.expert_intermediate, e = c_.num_experts;
    Matrix(name("ffn_gate_inp.weight"), {e, d}, 1.5);
    Vector(name("ffn_gate_inp.scale"), d);
    Matrix(name("ffn_gate_up_exps.weight"), {e, 2 * f, d});
    Matrix(name("ffn_down_exps.weight"), {e, d, f});
    Vector(name("ffn_down_exps.scale"), e);
    for (const char* norm : {"pre_ffw_norm_2.weight", "post_ffw_norm_1.weight", "post_ffw_norm_2.weight"})
      Vector(name(norm), d);
  }

  const Gemma4Config& c_;
};

SyntheticResult Sum(const std::vector<ExportTensor>& tensors) {
  SyntheticResult result;
  for (const ExportTensor& tensor : tensors) {
    result.num_parameters += tensor.shape.num_elems();
    result.num_bytes += tensor.bytes_after();
    ++result.num_tensors;
  }
  return result;
}

Status WriteVector(const ExportTensor& tensor, const Value& value, uint64_t seed, format::GgufWriter* writer) {
  std::vector<float> elems = tensor.generated;
  if (elems.empty()) {
    RandomBits random(seed);
    elems.resize(static_cast<size_t>(tensor.shape.num_elems()));
    for (float& elem : elems) elem = static_cast<float>(value.mean + value.stddev * random.Normal());
  }
  return writer->AppendTensorData(std::as_bytes(std::span(elems)));
}

// Pieces of a fixed number of blocks with seeds of their own, so that threads do not change the bytes.
Status WriteBlocks(const ExportTensor& tensor, const Value& value, uint64_t seed, ThreadTeam& team,
                   std::vector<std::byte>* buffer, format::GgufWriter* writer) {
  constexpr int64_t kPieceBlocks = int64_t{1} << 14;
  constexpr int64_t kPiecesPerMember = 8;
  const BlockFiller filler(tensor.to, value.stddev);
  const int64_t block_bytes = InfoOf(tensor.to).block_bytes;
  const int64_t num_blocks = tensor.bytes_after() / block_bytes;
  const int64_t step = kPieceBlocks * kPiecesPerMember * team.size();
  for (int64_t begin = 0; begin < num_blocks; begin += step) {
    const int64_t count = std::min(step, num_blocks - begin);
    buffer->resize(static_cast<size_t>(count * block_bytes));
    team.For(count, kPieceBlocks, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; block += kPieceBlocks) {
        const int64_t num = std::min(kPieceBlocks, last - block);
        const uint64_t piece = static_cast<uint64_t>((begin + block) / kPieceBlocks);
        filler.Fill(seed + piece * 0xD1342543DE82EF95u,
                    std::span(*buffer).subspan(static_cast<size_t>(block * block_bytes),
                                               static_cast<size_t>(num * block_bytes)));
      }
    });
    QUERN_TRY(writer->AppendTensorData(*buffer));
  }
  return {};
}

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

Result<Gemma4Config> PresetConfig(const std::string& name, int num_layers) {
  const auto preset = std::ranges::find(kPresets, name, &Preset::name);
  if (preset == std::end(kPresets)) {
    return Fail(Code::kInvalidArgument, "\"{}\" is not a preset; {}", name, fmt::join(PresetNames(), ", "));
  }
  const int layers = num_layers > 0 ? num_layers : preset->num_layers;
  Json json = {{"num_hidden_layers", layers},
               {"vocab_size", kVocab},
               {"hidden_size", preset->hidden},
               {"num_attention_heads", preset->heads},
               {"num_key_value_heads", preset->kv_heads},
               {"head_dim", 256},
               {"global_head_dim", 512},
               {"attention_k_eq_v", preset->k_eq_v},
               {"intermediate_size", preset->intermediate},
               {"use_double_wide_mlp", preset->double_wide},
               {"num_kv_shared_layers", layers - FirstShared(*preset, layers)},
               {"hidden_size_per_layer_input", preset->ple_width},
               {"sliding_window", preset->window},
               {"max_position_embeddings", preset->context},
               {"rms_norm_eps", 1e-6},
               {"final_logit_softcapping", 30.0}};
  if (preset->global_kv_heads > 0) json["num_global_key_value_heads"] = preset->global_kv_heads;
  if (preset->num_experts > 0) {
    json["enable_moe_block"] = true;
    json["num_experts"] = preset->num_experts;
    json["top_k_experts"] = preset->top_k;
    json["moe_intermediate_size"] = preset->expert_intermediate;
  }
  for (int i = 0; i < layers; ++i) {
    const bool is_full = (i + 1) % preset->period == 0 || i == layers - 1;
    json["layer_types"].push_back(is_full ? "full_attention" : "sliding_attention");
  }
  return Gemma4Config::FromJson(json);
}

Result<SyntheticResult> PlanSyntheticModel(const SyntheticOptions& options) {
  QUERN_ASSIGN_OR_RETURN(const Gemma4Config config, PresetConfig(options.preset, options.num_layers));
  QUERN_ASSIGN_OR_RETURN(const models::QuantizeType type, models::ParseQuantizeType(options.type));
  TensorList list(config);
  QUERN_TRY(models::PlanQuantization(type, options.tensor_types, &list.tensors));
  return Sum(list.tensors);
}

Result<SyntheticResult> WriteSyntheticModel(const SyntheticOptions& options, const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const Gemma4Config config, PresetConfig(options.preset, options.num_layers));
  QUERN_ASSIGN_OR_RETURN(const models::QuantizeType type, models::ParseQuantizeType(options.type));
  TensorList list(config);
  QUERN_TRY(models::PlanQuantization(type, options.tensor_types, &list.tensors));

  format::GgufWriter writer;
  writer.SetString("general.architecture", "gemma4");
  writer.SetString("general.type", "model");
  writer.SetString("general.name", fmt::format("random {}", options.preset));
  writer.SetString("general.description", "random weights for measurements; not a trained model");
  QUERN_TRY(models::gemma4::WriteGgufMetadata(config, &writer));
  QUERN_TRY(format::WriteGgufVocabulary(MakeSyntheticVocabulary(), &writer));
  writer.SetUint32("general.file_type", static_cast<uint32_t>(type.file_type));
  writer.SetUint32("general.quantization_version", 2);
  const SyntheticResult result = Sum(list.tensors);
  for (const ExportTensor& tensor : list.tensors) QUERN_TRY(writer.AddTensor(tensor.name, tensor.to, tensor.shape));
  QUERN_TRY(writer.Begin(path, AtomicFile::IfExists::kFail));
  ThreadTeam team(options.num_threads);
  std::vector<std::byte> buffer;
  int64_t done = 0;
  for (size_t i = 0; i < list.tensors.size(); ++i) {
    const ExportTensor& tensor = list.tensors[i];
    const uint64_t seed = options.seed * 0x9E3779B97F4A7C15u + i;
    if (tensor.shape.rank() == 1) {
      QUERN_TRY(WriteVector(tensor, list.values[i], seed, &writer));
    } else {
      QUERN_TRY(WriteBlocks(tensor, list.values[i], seed, team, &buffer, &writer));
    }
    done += tensor.bytes_after();
    if (options.progress) options.progress(done, result.num_bytes);
  }
  QUERN_TRY(writer.Finish());
  return result;
}

}  // namespace quern::tools
