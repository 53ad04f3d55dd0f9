// The differences between revisions of published files: each variant of a demo checkpoint must load and give the logits
// of the original, or be refused by name.
#include <cstring>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "quern/convert.h"
#include "quern/generate.h"

#include "base/json.h"
#include "engine/model_impl.h"
#include "format/gguf_writer.h"
#include "format/sample_files.h"

namespace quern {
namespace {

using format::GgufType;
using format::GgufValue;
using format::TemporaryFolder;

ModelFile At(const std::filesystem::path& path) {
  ModelFile file;
  file.path = path.string();
  return file;
}
ModelFile Demo(const std::string& name) { return At(std::string(QUERN_SOURCE_DIR) + "/models/" + name); }

Result<std::shared_ptr<Model>> Load(const ModelFile& file) {
  LoadOptions options;
  options.threads = 1;
  options.context = 256;
  return Model::Load(file, options);
}

// 150 tokens: beyond the window of 128, so that a wrong kind of layer shows.
std::vector<float> Logits(const ModelFile& file) {
  const auto model = Load(file);
  EXPECT_TRUE(model) << model.error().ToString();
  if (!model) return {};
  std::vector<TokenId> ids = {2};
  for (int i = 1; i < 150; ++i) ids.push_back(300 + i * 37 % 3000);
  const auto result = EvaluateLogits(*model, ids, std::vector<int32_t>{20, 149});
  EXPECT_TRUE(result) << result.error().ToString();
  return result ? result->logits : std::vector<float>();
}

// A GGUF file in memory, to be edited and written again.
struct EditableGguf {
  std::map<std::string, GgufValue> metadata;
  struct Tensor {
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors;

  void SetInts(const std::string& key, std::vector<int64_t> values) {
    metadata[key] = {GgufType::kArray, GgufType::kInt32, std::move(values)};
  }
  void SetInt(const std::string& key, uint64_t value) { metadata[key] = {GgufType::kUint32, GgufType::kUint32, value}; }
};

class FileRevisions : public ::testing::Test {
 protected:
  // The demo checkpoint as GGUF, changed by `edit`.
  ModelFile Variant(const std::string& demo, const std::function<void(EditableGguf*)>& edit) {
    const auto base = folder_.path() / (demo + ".gguf");
    if (!std::filesystem::exists(base)) EXPECT_TRUE(ConvertModel(Demo(demo), base.string(), {}));
    const auto file = format::GgufFile::Open(base);
    EXPECT_TRUE(file);
    EditableGguf gguf;
    gguf.metadata.insert(file->metadata().begin(), file->metadata().end());
    for (const auto& [name, view] : file->tensors().tensors) {
      gguf.tensors[name] = {view.dtype, view.shape, std::vector<std::byte>(view.data, view.data + view.num_bytes())};
    }
    edit(&gguf);
    format::GgufWriter writer;
    for (const auto& [key, value] : gguf.metadata) writer.Set(key, value);
    for (const auto& [name, tensor] : gguf.tensors) EXPECT_TRUE(writer.AddTensor(name, tensor.dtype, tensor.shape));
    const auto path = folder_.path() / fmt::format("variant{}.gguf", num_variants_++);
    EXPECT_TRUE(writer.Begin(path, AtomicFile::IfExists::kFail));
    for (const auto& [name, tensor] : gguf.tensors) EXPECT_TRUE(writer.AppendTensorData(tensor.bytes));
    EXPECT_TRUE(writer.Finish());
    return At(path);
  }

  // A copy of the demo folder with another config.json.
  ModelFile WithConfig(const std::string& demo, const std::function<void(Json*)>& edit) {
    const auto path = folder_.path() / fmt::format("variant{}", num_variants_++);
    std::filesystem::copy(Demo(demo).path, path);
    Json config = *ParseJson(*ReadFile(path / "config.json"), "config.json");
    edit(&config);
    EXPECT_TRUE(WriteFileAtomically(path / "config.json", config.dump()));
    return At(path);
  }

  static std::string CodeOf(const ModelFile& file) {
    const auto model = Load(file);
    return model ? "loaded" : std::string(CodeName(model.error().code));
  }

  const TemporaryFolder folder_;
  int num_variants_ = 0;
};

TEST_F(FileRevisions, ScalarAndArrayKeysMeanTheSame) {
  EXPECT_EQ(Logits(Variant("gemma4-nano",
                           [](EditableGguf* gguf) {
                             gguf->SetInts("gemma4.attention.head_count_kv", {1, 1, 1, 1, 1, 1, 1, 1});
                           })),
            Logits(Demo("gemma4-nano")));
  const std::vector<float> moe = Logits(Demo("gemma4-nano-moe"));
  EXPECT_EQ(Logits(Variant("gemma4-nano-moe",
                           [](EditableGguf* gguf) {
                             const GgufValue& width = gguf->metadata.at("gemma4.feed_forward_length");
                             ASSERT_EQ(width.type, GgufType::kUint32);
                             gguf->SetInts(
                                 "gemma4.feed_forward_length",
                                 std::vector<int64_t>(4, static_cast<int64_t>(std::get<uint64_t>(width.data))));
                           })),
            moe);
}

TEST_F(FileRevisions, ArraysOfTheWrongLengthAreRefused) {
  EXPECT_EQ(CodeOf(Variant("gemma4-nano",
                           [](EditableGguf* gguf) {
                             gguf->SetInts("gemma4.attention.head_count_kv", {1, 1, 1});
                           })),
            "corrupt");
  EXPECT_EQ(CodeOf(Variant("gemma4-nano", [](EditableGguf* gguf) { gguf->SetInt("gemma4.block_count", 7); })),
            "corrupt");
}

// Gate first, up second: [E, 2F, D] and two tensors [E, F, D].
TEST_F(FileRevisions, FusedAndSplitExpertsMeanTheSame) {
  const ModelFile split = Variant("gemma4-nano-moe", [](EditableGguf* gguf) {
    for (int layer = 0; layer < 4; ++layer) {
      const std::string prefix = fmt::format("blk.{}.", layer);
      const auto fused = gguf->tensors.extract(prefix + "ffn_gate_up_exps.weight").mapped();
      const Shape half = {fused.shape[0], fused.shape[1] / 2, fused.shape[2]};
      EditableGguf::Tensor gate{fused.dtype, half, {}}, up{fused.dtype, half, {}};
      const auto half_bytes = static_cast<std::ptrdiff_t>(fused.bytes.size() / static_cast<size_t>(2 * fused.shape[0]));
      for (auto at = fused.bytes.begin(); at != fused.bytes.end(); at += 2 * half_bytes) {
        gate.bytes.insert(gate.bytes.end(), at, at + half_bytes);
        up.bytes.insert(up.bytes.end(), at + half_bytes, at + 2 * half_bytes);
      }
      gguf->tensors[prefix + "ffn_gate_exps.weight"] = std::move(gate);
      gguf->tensors[prefix + "ffn_up_exps.weight"] = std::move(up);
    }
  });
  const std::vector<float> wanted = Logits(Demo("gemma4-nano-moe"));
  EXPECT_EQ(Logits(split), wanted);
  // And joined again on the way to a folder, which knows only the fused form.
  const auto back = folder_.path() / "joined";
  ConvertOptions options;
  options.to = "safetensors";
  ASSERT_TRUE(ConvertModel(split, back.string(), options));
  EXPECT_EQ(Logits(At(back)), wanted);
}

// Other converters leave the shared tail's unused k_proj, v_proj and k_norm in: they must not be read.
TEST_F(FileRevisions, RedundantTailKeysAndValuesAreIgnored) {
  const ModelFile with_tail = Variant("gemma4-nano", [](EditableGguf* gguf) {
    for (int layer = 4; layer < 8; ++layer) {
      for (const char* suffix : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}) {
        EditableGguf::Tensor tensor = gguf->tensors.at(fmt::format("blk.{}.{}", layer - 4, suffix));
        for (std::byte& byte : tensor.bytes) byte ^= std::byte{0x15};
        ASSERT_TRUE(gguf->tensors.emplace(fmt::format("blk.{}.{}", layer, suffix), std::move(tensor)).second);
      }
    }
  });
  EXPECT_EQ(Logits(with_tail), Logits(Demo("gemma4-nano")));
}

TEST_F(FileRevisions, OptionalTensorsMayBeMissing) {
  const std::vector<float> wanted = Logits(Demo("gemma4-nano"));
  EXPECT_EQ(Logits(Variant("gemma4-nano", [](EditableGguf* gguf) { gguf->tensors.erase("rope_freqs.weight"); })),
            wanted)
      << "a quarter of the width rotates in every published file";
  EXPECT_EQ(Logits(Variant("gemma4-nano",
                           [](EditableGguf* gguf) {
                             for (int layer = 0; layer < 8; ++layer)
                               gguf->tensors.erase(fmt::format("blk.{}.layer_output_scale.weight", layer));
                           })),
            wanted)
      << "1 in this checkpoint, which is what missing means";
  EXPECT_EQ(Logits(Variant(
                "gemma4-nano",
                [](EditableGguf* gguf) { gguf->tensors["output.weight"] = gguf->tensors.at("token_embd.weight"); })),
            wanted)
      << "an untied head that equals the embedding";
}

// eos is <eos> in some files and <turn|> in others; generation ends at both, and at <|tool_response>, whatever the file
// says.
TEST_F(FileRevisions, EndTokensAreFoundByTheirStrings) {
  const auto ends = [](const ModelFile& file) {
    const auto model = Load(file);
    EXPECT_TRUE(model);
    const auto ids = (*model)->impl().tokenizer->end_ids();
    return std::vector<TokenId>(ids.begin(), ids.end());
  };
  const std::vector<TokenId> wanted = ends(Variant("gemma4-nano", [](EditableGguf*) {}));
  EXPECT_GE(wanted.size(), 3u);
  for (const uint64_t eos : {1, 16}) {
    const ModelFile variant = Variant("gemma4-nano", [&](EditableGguf* gguf) {
      gguf->metadata.erase("tokenizer.ggml.eot_token_id");
      gguf->SetInt("tokenizer.ggml.eos_token_id", eos);
    });
    EXPECT_EQ(ends(variant), wanted) << eos;
  }
  EXPECT_EQ(ends(Variant("gemma4-nano",
                         [](EditableGguf* gguf) {
                           gguf->metadata.erase("tokenizer.ggml.eot_token_id");
                           gguf->metadata.erase("tokenizer.ggml.eos_token_id");
                         })),
            wanted);
}

// Files that call <|tool_response> a control token, or byte tokens normal ones, are mended when read.
TEST_F(FileRevisions, WrongTokenTypesAreMended) {
  const auto types = [](const ModelFile& file) {
    const auto model = Load(file);
    EXPECT_TRUE(model);
    return (*model)->impl().tokenizer->vocabulary().types;
  };
  const auto wanted = types(Variant("gemma4-nano", [](EditableGguf*) {}));
  const ModelFile wrong = Variant("gemma4-nano", [](EditableGguf* gguf) {
    auto& numbers = std::get<std::vector<int64_t>>(gguf->metadata.at("tokenizer.ggml.token_type").data);
    const auto& pieces = std::get<std::vector<std::string_view>>(gguf->metadata.at("tokenizer.ggml.tokens").data);
    for (size_t id = 0; id < pieces.size(); ++id) {
      if (pieces[id] == "<|tool_response>") numbers[id] = 3;
      if (pieces[id] == "<0x41>") numbers[id] = 1;
    }
  });
  EXPECT_EQ(types(wrong), wanted);
}

TEST_F(FileRevisions, BothSpellingsOfFullLayersMeanTheSame) {
  const auto spell_out = [](Json* config) {
    config->erase("per_layer_config");
    (*config)["global_head_dim"] = 128;
  };
  EXPECT_EQ(Logits(WithConfig("gemma4-nano", spell_out)), Logits(Demo("gemma4-nano")));
  // Keys may be padded with zeros.
  EXPECT_EQ(
      Logits(WithConfig("gemma4-nano",
                        [](Json* config) {
                          (*config)["per_layer_config"] = {{"03", {{"head_dim", 128}}}, {"07", {{"head_dim", 128}}}};
                        })),
      Logits(Demo("gemma4-nano")));
  // Together they must agree.
  EXPECT_EQ(CodeOf(WithConfig("gemma4-nano", [](Json* config) { (*config)["global_head_dim"] = 128; })), "loaded");
  EXPECT_EQ(CodeOf(WithConfig("gemma4-nano", [](Json* config) { (*config)["global_head_dim"] = 256; })), "corrupt");
  EXPECT_EQ(Logits(WithConfig("gemma4-nano-moe",
                              [](Json* config) {
                                const Json overrides = config->at("per_layer_config");
                                config->erase("per_layer_config");
                                (*config)["global_head_dim"] = overrides.begin()->at("head_dim");
                                (*config)["num_global_key_value_heads"] = overrides.begin()->at("num_key_value_heads");
                              })),
            Logits(Demo("gemma4-nano-moe")));
}

// A multimodal folder nests the text stack and prefixes its tensors.
TEST_F(FileRevisions, NestedTextConfigIsRead) {
  const ModelFile nested = WithConfig("gemma4-nano", [](Json* config) {
    Json text = std::move(*config);
    *config = {{"model_type", "gemma4"}, {"eos_token_id", {1, 16}}, {"text_config", std::move(text)}};
  });
  EXPECT_EQ(Logits(nested), Logits(Demo("gemma4-nano")));
}

TEST_F(FileRevisions, TheTokenizerPreKeyMayBeThere) {
  for (const char* pre : {"default", "gemma4"}) {
    const ModelFile variant = Variant("gemma4-nano", [&](EditableGguf* gguf) {
      gguf->metadata["tokenizer.ggml.pre"] = {GgufType::kString, GgufType::kUint32, std::string(pre)};
    });
    EXPECT_EQ(CodeOf(variant), "loaded") << pre;
  }
}

}  // namespace
}  // namespace quern
