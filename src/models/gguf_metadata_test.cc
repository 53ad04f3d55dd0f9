// Configurations through GGUF metadata and config.json and back, for every shape there is a checkpoint of.
#include "models/gemma3/gguf_metadata.h"

#include <gtest/gtest.h>

#include "format/hf_folder.h"
#include "format/sample_files.h"
#include "models/gemma3/config.h"
#include "models/gemma3/hf_config.h"
#include "models/gemma4/gguf_metadata.h"
#include "models/gemma4/hf_config.h"
#include "models/tensor_export.h"

namespace quern::models {
namespace {

using gemma4::Gemma4Config;

std::string SourcePath(const std::string& path) { return std::string(QUERN_SOURCE_DIR) + "/" + path; }

void ExpectSame(const Gemma4Config& a, const Gemma4Config& b) {
  EXPECT_EQ(a.hidden_size, b.hidden_size);
  EXPECT_EQ(a.num_heads, b.num_heads);
  EXPECT_EQ(a.context_limit, b.context_limit);
  EXPECT_EQ(a.sliding_window, b.sliding_window);
  EXPECT_EQ(a.first_shared_layer, b.first_shared_layer);
  EXPECT_EQ(a.k_eq_v, b.k_eq_v);
  EXPECT_EQ(a.ple_width, b.ple_width);
  EXPECT_FLOAT_EQ(a.rms_eps, b.rms_eps);
  EXPECT_FLOAT_EQ(a.final_softcap, b.final_softcap);
  EXPECT_EQ(a.num_experts, b.num_experts);
  EXPECT_EQ(a.top_k_experts, b.top_k_experts);
  EXPECT_EQ(a.expert_intermediate, b.expert_intermediate);
  for (const auto rope : {&Gemma4Config::rope_sliding, &Gemma4Config::rope_full}) {
    EXPECT_FLOAT_EQ((a.*rope).theta, (b.*rope).theta);
    EXPECT_DOUBLE_EQ((a.*rope).partial_rotary_factor, (b.*rope).partial_rotary_factor);
  }
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].type, b.layers[i].type) << i;
    EXPECT_EQ(a.layers[i].head_dim, b.layers[i].head_dim) << i;
    EXPECT_EQ(a.layers[i].num_kv_heads, b.layers[i].num_kv_heads) << i;
    EXPECT_EQ(a.layers[i].intermediate, b.layers[i].intermediate) << i;
    EXPECT_EQ(a.layers[i].kv_donor, b.layers[i].kv_donor) << i;
  }
}

class Gemma4Metadata : public ::testing::TestWithParam<std::string> {};

// GGUF has no key for k_eq_v: it is read off the tensors, so the file needs them.
TEST_P(Gemma4Metadata, SurvivesGguf) {
  const format::TemporaryFolder folder;
  const auto checkpoint = OpenCheckpoint(SourcePath(GetParam()));
  ASSERT_TRUE(checkpoint) << checkpoint.error().ToString();
  const auto config = Gemma4Config::FromJson(checkpoint->folder->config);
  ASSERT_TRUE(config) << config.error().ToString();
  const auto tensors = ListGgufTensors(*checkpoint);
  ASSERT_TRUE(tensors) << tensors.error().ToString();

  format::GgufWriter writer;
  writer.SetString("general.architecture", "gemma4");
  ASSERT_TRUE(gemma4::WriteGgufMetadata(*config, &writer));
  for (const ExportTensor& tensor : *tensors) ASSERT_TRUE(writer.AddTensor(tensor.name, tensor.to, tensor.shape));
  const auto path = folder.path() / "x.gguf";
  ASSERT_TRUE(writer.Begin(path, AtomicFile::IfExists::kFail));
  for (const ExportTensor& tensor : *tensors) {
    const std::vector<std::byte> zeros(static_cast<size_t>(tensor.bytes_after()));
    const bool is_made = !tensor.generated.empty();
    ASSERT_TRUE(writer.AppendTensorData(is_made ? std::as_bytes(std::span(tensor.generated))
                                                : std::span<const std::byte>(zeros)));
  }
  ASSERT_TRUE(writer.Finish());

  const auto file = format::GgufFile::Open(path);
  ASSERT_TRUE(file) << file.error().ToString();
  auto read = Gemma4Config::FromGguf(*file);
  ASSERT_TRUE(read) << read.error().ToString();
  ASSERT_TRUE(gemma4::TakeRotatedSpan(*file->tensors().Find("rope_freqs.weight"), &*read));
  ExpectSame(*read, *config);

  // Arrays only where layers differ, as other converters write them.
  const auto is_array = [&](const char* key) { return file->metadata().at(key).type == format::GgufType::kArray; };
  const auto differ = [&](auto field) {
    return std::ranges::any_of(config->layers,
                               [&](const auto& layer) { return layer.*field != config->layers[0].*field; });
  };
  EXPECT_EQ(is_array("gemma4.feed_forward_length"), differ(&gemma4::LayerConfig::intermediate));
  EXPECT_EQ(is_array("gemma4.attention.head_count_kv"), differ(&gemma4::LayerConfig::num_kv_heads));
}

TEST_P(Gemma4Metadata, SurvivesConfigJson) {
  const auto folder = format::OpenHfFolder(SourcePath(GetParam()), format::WithWeights::kNo);
  ASSERT_TRUE(folder);
  const auto config = Gemma4Config::FromJson(folder->config);
  ASSERT_TRUE(config);
  const auto json = gemma4::ToHfConfig(*config, config->vocab_size);
  ASSERT_TRUE(json) << json.error().ToString();
  const auto read = Gemma4Config::FromJson(Json::parse(json->dump()));
  ASSERT_TRUE(read) << read.error().ToString();
  ExpectSame(*read, *config);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Gemma4Metadata,
                         ::testing::Values("models/gemma4-nano", "models/gemma4-nano-moe",
                                           "tests/golden/gemma4-e2b-like", "tests/golden/gemma4-e4b-like",
                                           "tests/golden/gemma4-26b-a4b-like", "tests/golden/gemma4-31b-like"),
                         [](const auto& info) {
                           std::string name = info.param.substr(info.param.rfind('/') + 1);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(RopeFreqs, SayWhichPairsRotate) {
  const auto folder = format::OpenHfFolder(SourcePath("models/gemma4-nano"), format::WithWeights::kNo);
  auto config = Gemma4Config::FromJson(folder->config);
  const std::vector<float> factors = gemma4::RopeFreqs(*config);
  ASSERT_EQ(factors.size(), 64u) << "half of the full layers' width of 128";
  EXPECT_EQ(std::ranges::count(factors, 1.0f), 16) << "a quarter of the width rotates";
  EXPECT_EQ(std::ranges::count(factors, 1e30f), 48);
  // Factors that config.json cannot say.
  const std::vector<float> odd = {1, 2, 1e30f};
  const TensorView view{reinterpret_cast<const std::byte*>(odd.data()), DType::kF32, {3}};
  EXPECT_EQ(gemma4::TakeRotatedSpan(view, &*config).error().code, Code::kUnsupported);
}

gemma3::Gemma3Config SmallGemma3() {
  gemma3::Gemma3Config config;
  config.vocab_size = 512;
  config.num_layers = 7;
  config.hidden_size = 64;
  config.num_heads = 4;
  config.num_kv_heads = 1;
  config.head_dim = 16;
  config.intermediate = 128;
  config.context_limit = 1024;
  config.sliding_window = 32;
  config.query_scalar = 16;
  config.rope_global_factor = 8;
  return config;
}

TEST(Gemma3Metadata, SurvivesGgufAndConfigJson) {
  const format::TemporaryFolder folder;
  const gemma3::Gemma3Config config = SmallGemma3();
  format::GgufWriter writer;
  ASSERT_TRUE(gemma3::WriteGgufMetadata(config, &writer));
  ASSERT_TRUE(writer.Begin(folder.path() / "x.gguf", AtomicFile::IfExists::kFail));
  ASSERT_TRUE(writer.Finish());
  const auto file = format::GgufFile::Open(folder.path() / "x.gguf");
  ASSERT_TRUE(file);
  const auto from_gguf = gemma3::Gemma3Config::FromGguf(*file);
  const auto from_json = gemma3::Gemma3Config::FromJson(Json::parse(gemma3::ToHfConfig(config, 512).dump()));
  ASSERT_TRUE(from_gguf) << from_gguf.error().ToString();
  ASSERT_TRUE(from_json) << from_json.error().ToString();
  for (const auto& read : {*from_gguf, *from_json}) {
    EXPECT_EQ(read.num_layers, 7);
    EXPECT_EQ(read.hidden_size, 64);
    EXPECT_EQ(read.num_heads, 4);
    EXPECT_EQ(read.num_kv_heads, 1);
    EXPECT_EQ(read.head_dim, 16);
    EXPECT_EQ(read.intermediate, 128);
    EXPECT_EQ(read.sliding_window, 32);
    EXPECT_EQ(read.query_scalar, 16);
    EXPECT_EQ(read.rope_global_factor, 8);
    EXPECT_FLOAT_EQ(read.rope_local_theta, 1e4f);
    EXPECT_FLOAT_EQ(read.rope_global_theta, 1e6f);
  }
}

// What readers of a gemma3 file take for granted is checked, not lost.
TEST(Gemma3Metadata, RefusesWhatGgufCannotSay) {
  format::GgufWriter writer;
  gemma3::Gemma3Config config = SmallGemma3();
  config.query_scalar = 20;
  EXPECT_EQ(gemma3::WriteGgufMetadata(config, &writer).error().code, Code::kUnsupported);
  config = SmallGemma3();
  config.full_period = 4;
  EXPECT_EQ(gemma3::WriteGgufMetadata(config, &writer).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace quern::models
