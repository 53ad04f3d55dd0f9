// Looking at files without loading them.
#include "quern/inspect.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "quern/convert.h"

#include "base/hash.h"
#include "format/gguf_writer.h"
#include "format/safetensors.h"
#include "format/sample_files.h"

namespace quern {
namespace {

using format::TemporaryFolder;

ModelFile Source(const std::string& path) {
  ModelFile file;
  file.path = std::string(QUERN_SOURCE_DIR) + "/" + path;
  return file;
}
ModelFile At(const std::filesystem::path& path) {
  ModelFile file;
  file.path = path.string();
  return file;
}

template <typename Pairs>
std::string Value(const Pairs& pairs, std::string_view key) {
  const auto found = std::ranges::find(pairs, key, [](const auto& pair) { return std::string_view(pair.first); });
  return found == pairs.end() ? "absent" : found->second;
}

// A folder and the GGUF made of it tell the same story.
TEST(InspectModel, ShowsBothForms) {
  const TemporaryFolder folder;
  const auto gguf = folder.path() / "a.gguf";
  ASSERT_TRUE(ConvertModel(Source("models/gemma4-nano-moe"), gguf.string(), {}));
  for (const auto& [file, format] :
       {std::pair(Source("models/gemma4-nano-moe"), "safetensors"), std::pair(At(gguf), "GGUF v3")}) {
    const auto model = InspectModel(file);
    ASSERT_TRUE(model) << model.error().ToString();
    EXPECT_EQ(model->format, format);
    EXPECT_EQ(model->support, "");
    EXPECT_EQ(model->name, "gemma4-nano-moe");
    EXPECT_EQ(Value(model->facts, "layers"), "4");
    EXPECT_EQ(Value(model->facts, "experts"), "16");
    EXPECT_EQ(Value(model->facts, "experts per token"), "4");
    EXPECT_FALSE(model->chat_template.empty());
    EXPECT_GT(model->file_bytes, 5'000'000);
    EXPECT_NEAR(static_cast<double>(model->num_parameters) / 1e6, 2.75, 0.01);
    int64_t bytes = 0;
    for (const InspectedTensor& tensor : model->tensors) bytes += tensor.num_bytes;
    EXPECT_LE(bytes, model->file_bytes);
  }
}

// Long values are abbreviated in the overview and whole when asked for; they are JSON.
TEST(InspectMetadata, ShowsValuesInFull) {
  const TemporaryFolder folder;
  const auto gguf = folder.path() / "a.gguf";
  ASSERT_TRUE(ConvertModel(Source("models/gemma4-nano"), gguf.string(), {}));
  const auto model = InspectModel(At(gguf));
  ASSERT_TRUE(model);
  const std::string brief = Value(model->metadata, "tokenizer.ggml.tokens");
  EXPECT_LT(brief.size(), 300u);
  EXPECT_NE(brief.find("4096"), std::string::npos);
  const auto whole = InspectMetadata(At(gguf), "tokenizer.ggml.tokens");
  ASSERT_TRUE(whole);
  EXPECT_GT(whole->size(), 20'000u);
  EXPECT_EQ(*InspectMetadata(At(gguf), "gemma4.block_count"), "8");
  EXPECT_EQ(*InspectMetadata(At(gguf), "gemma4.attention.sliding_window_pattern"),
            "[true,true,true,false,true,true,true,false]");
  EXPECT_EQ(*InspectMetadata(Source("models/gemma4-nano"), "num_hidden_layers"), "8");
}

TEST(InspectMetadata, NamesTheNearestKeys) {
  const auto value = InspectMetadata(Source("models/gemma4-nano"), "num_hiden_layers");
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, Code::kNotFound);
  EXPECT_NE(value.error().hint.find("num_hidden_layers"), std::string::npos);
}

// What this build cannot run is still shown, with the reason: drafters, encoders, and architectures nobody knows.
TEST(InspectModel, ShowsWhatItCannotRun) {
  const auto drafter = InspectModel(Source("models/gemma4-nano-assistant"));
  ASSERT_TRUE(drafter) << drafter.error().ToString();
  EXPECT_EQ(drafter->architecture, "gemma4_assistant");
  EXPECT_NE(drafter->support.find("drafter"), std::string::npos);
  const auto encoder = InspectModel(Source("tests/golden/xlm-roberta-tiny"));
  ASSERT_TRUE(encoder);
  EXPECT_FALSE(encoder->support.empty());

  const TemporaryFolder folder;
  format::GgufWriter writer;
  writer.SetString("general.architecture", "mamba9");
  writer.SetUint32("mamba9.block_count", 3);
  writer.SetString("general.license", "nobody's");
  ASSERT_TRUE(writer.Begin(folder.path() / "m.gguf", AtomicFile::IfExists::kFail));
  ASSERT_TRUE(writer.Finish());
  const auto unknown = InspectModel(At(folder.path() / "m.gguf"));
  ASSERT_TRUE(unknown) << unknown.error().ToString();
  EXPECT_EQ(unknown->architecture, "mamba9");
  EXPECT_EQ(Value(unknown->facts, "layers"), "3");
  EXPECT_EQ(unknown->license, "nobody's");
  EXPECT_NE(unknown->support.find("mamba9"), std::string::npos);
}

// A model whose tensors contradict its configuration says so here, not only at load.
TEST(InspectModel, ReportsMissingTensors) {
  const TemporaryFolder folder;
  const auto copy = folder.path() / "model";
  std::filesystem::copy(Source("models/gemma4-nano").path, copy);
  auto weights = format::OpenSafetensors(copy);
  ASSERT_TRUE(weights);
  weights->tensors.tensors.erase("model.layers.2.mlp.up_proj.weight");
  ASSERT_TRUE(format::WriteSafetensors(copy / "edited", weights->tensors, {}, AtomicFile::IfExists::kFail));
  std::filesystem::rename(copy / "edited", copy / "model.safetensors");
  const auto model = InspectModel(At(copy));
  ASSERT_TRUE(model);
  EXPECT_NE(model->support.find("blk.2.ffn_up.weight"), std::string::npos) << model->support;
}

// The estimate is what loading takes.
TEST(EstimateMemory, AgreesWithLoading) {
  for (const char* name : {"models/gemma4-nano", "models/gemma4-nano-moe"}) {
    const auto need = EstimateMemory(Source(name), 512, 3);
    ASSERT_TRUE(need) << need.error().ToString();
    LoadOptions options;
    options.context = 512;
    options.max_sequences = 3;
    const auto model = Model::Load(Source(name), options);
    ASSERT_TRUE(model);
    EXPECT_EQ(need->cache_bytes, (*model)->info().cache_bytes);
    EXPECT_EQ(need->packed_bytes, (*model)->info().weight_bytes);
    // Scratch also holds prepared activations, which the estimate leaves out: it is a lower bound within a factor of
    // two.
    EXPECT_LE(need->scratch_bytes, (*model)->info().scratch_bytes);
    EXPECT_GE(2 * need->scratch_bytes, (*model)->info().scratch_bytes);
  }
}

TEST(EstimateMemory, RefusesAContextBeyondTheModel) {
  EXPECT_EQ(EstimateMemory(Source("models/gemma4-nano"), 100'000, 1).error().code, Code::kInvalidArgument);
  EXPECT_EQ(EstimateMemory(Source("models/gemma4-nano"), 512, 0).error().code, Code::kInvalidArgument);
}

TEST(HashModel, CoversWeightsAndDocuments) {
  const auto hashes = HashModel(Source("models/gemma4-nano"));
  ASSERT_TRUE(hashes);
  const auto hash_of = [&](std::string_view name) {
    const auto found = std::ranges::find_if(*hashes, [&](const auto& pair) { return pair.first.ends_with(name); });
    return found == hashes->end() ? "absent" : found->second;
  };
  for (const char* name : {"/model.safetensors", "/config.json", "/tokenizer.json"}) {
    EXPECT_EQ(hash_of(name), *Sha256HexOfFile(Source("models/gemma4-nano").path + name));
  }
}

}  // namespace
}  // namespace quern
