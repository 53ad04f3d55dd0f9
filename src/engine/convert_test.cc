// Converting the demo checkpoints: what comes back, what is refused, and that nothing half-done stays.
#include "quern/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "quern/generate.h"

#include "base/file.h"
#include "engine/test_models.h"
#include "format/gguf_writer.h"
#include "format/safetensors.h"
#include "format/sample_files.h"
#include "models/checkpoint.h"
#include "models/gemma3/config.h"
#include "models/gemma3/hf_config.h"
#include "tensor/half.h"

namespace quern {
namespace {

using engine::testing::At;
using engine::testing::Demo;
using engine::testing::Logits;
using engine::testing::RelativeRms;
using engine::testing::ToSafetensors;
using engine::testing::Type;
using format::TemporaryFolder;

bool IsEmpty(const std::filesystem::path& folder) { return std::filesystem::is_empty(folder); }

class RoundTrip : public ::testing::TestWithParam<const char*> {};

// Folder to GGUF to folder: every tensor under its name with its bits, and the same logits at each stage.
TEST_P(RoundTrip, IsExact) {
  const TemporaryFolder folder;
  const auto gguf = folder.path() / "a.gguf", back = folder.path() / "back";
  ASSERT_TRUE(ConvertModel(Demo(GetParam()), gguf.string(), Type("")));
  const auto converted = ConvertModel(At(gguf), back.string(), ToSafetensors("BF16"));
  ASSERT_TRUE(converted) << converted.error().ToString();

  const auto before = format::OpenSafetensors(Demo(GetParam()).path), after = format::OpenSafetensors(back);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->tensors.tensors.size(), after->tensors.tensors.size());
  for (const auto& [name, view] : before->tensors.tensors) {
    const TensorView* other = after->tensors.Find(name);
    ASSERT_NE(other, nullptr) << name;
    ASSERT_EQ(view.dtype, other->dtype) << name;
    ASSERT_EQ(view.shape, other->shape) << name;
    EXPECT_EQ(std::memcmp(view.data, other->data, static_cast<size_t>(view.num_bytes())), 0) << name;
  }
  const std::vector<float> wanted = Logits(Demo(GetParam()));
  EXPECT_EQ(Logits(At(gguf)), wanted);
  EXPECT_EQ(Logits(At(back)), wanted);
}
INSTANTIATE_TEST_SUITE_P(Demos, RoundTrip, ::testing::Values("gemma4-nano", "gemma4-nano-moe"),
                         [](const auto& info) { return std::string(info.param) == "gemma4-nano" ? "nano" : "moe"; });

// Gemma 3 norms are w in safetensors and 1 + w in GGUF. A random checkpoint with the demo's tokenizer.
TEST(ConvertModel, ShiftsGemma3Norms) {
  const TemporaryFolder folder;
  const auto source = folder.path() / "gemma3";
  std::filesystem::create_directory(source);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(std::filesystem::path(Demo().path) / name, source / name);
  }
  models::gemma3::Gemma3Config config;
  config.num_layers = 7;
  config.hidden_size = 64;
  config.num_heads = 4;
  config.num_kv_heads = 1;
  config.head_dim = 16;
  config.intermediate = 96;
  config.context_limit = 256;
  config.sliding_window = 16;
  config.query_scalar = 16;
  ASSERT_TRUE(WriteFileAtomically(source / "config.json", models::gemma3::ToHfConfig(config, 4096).dump()));

  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 0.1f);
  std::map<std::string, std::vector<uint16_t>> values;
  TensorTable tensors;
  const auto add = [&](const std::string& name, Shape shape) {
    std::vector<uint16_t>& data = values["model." + name];
    for (int64_t i = 0; i < shape.num_elems(); ++i) data.push_back(FloatToBf16(normal(random)));
    tensors.tensors["model." + name] = {reinterpret_cast<const std::byte*>(data.data()), DType::kBF16, shape};
  };
  add("embed_tokens.weight", {4096, 64});
  add("norm.weight", {64});
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    for (const char* norm :
         {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"}) {
      add(prefix + norm + ".weight", {64});
    }
    add(prefix + "self_attn.q_proj.weight", {64, 64});
    add(prefix + "self_attn.k_proj.weight", {16, 64});
    add(prefix + "self_attn.v_proj.weight", {16, 64});
    add(prefix + "self_attn.o_proj.weight", {64, 64});
    add(prefix + "self_attn.q_norm.weight", {16});
    add(prefix + "self_attn.k_norm.weight", {16});
    add(prefix + "mlp.gate_proj.weight", {96, 64});
    add(prefix + "mlp.up_proj.weight", {96, 64});
    add(prefix + "mlp.down_proj.weight", {64, 96});
  }
  ASSERT_TRUE(format::WriteSafetensors(source / "model.safetensors", tensors, {}, AtomicFile::IfExists::kFail));

  const auto gguf = folder.path() / "a.gguf", back = folder.path() / "back";
  const auto converted = ConvertModel(At(source), gguf.string(), Type(""));
  ASSERT_TRUE(converted) << converted.error().ToString();
  const auto file = format::GgufFile::Open(gguf);
  ASSERT_TRUE(file);
  const TensorView* norm = file->tensors().Find("blk.2.attn_q_norm.weight");
  ASSERT_NE(norm, nullptr);
  float first = 0;
  std::memcpy(&first, norm->data, sizeof(first));
  EXPECT_EQ(first, 1.0f + Bf16ToFloat(values.at("model.layers.2.self_attn.q_norm.weight")[0]));
  const std::vector<float> wanted = Logits(At(source));
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(Logits(At(gguf)), wanted);

  ASSERT_TRUE(ConvertModel(At(gguf), back.string(), ToSafetensors("BF16")));
  const auto again = format::OpenSafetensors(back);
  ASSERT_TRUE(again);
  for (const auto& [name, view] : tensors.tensors) {
    ASSERT_NE(again->tensors.Find(name), nullptr) << name;
    EXPECT_EQ(std::memcmp(view.data, again->tensors.Find(name)->data, static_cast<size_t>(view.num_bytes())), 0)
        << name;
  }
}

TEST(ConvertModel, ConvertsFloats) {
  const TemporaryFolder folder;
  const std::vector<float> wanted = Logits(Demo());
  for (const char* dtype : {"F32", "F16", "BF16"}) {
    const auto path = folder.path() / (std::string(dtype) + ".gguf");
    const auto result = ConvertModel(Demo(), path.string(), Type(dtype));
    ASSERT_TRUE(result) << result.error().ToString();
    const auto checkpoint = models::OpenCheckpoint(path);
    ASSERT_TRUE(checkpoint);
    EXPECT_EQ(models::DescribeQuantization(checkpoint->tensors), dtype);
    EXPECT_EQ(checkpoint->tensors.Find("output_norm.weight")->dtype, DType::kF32);
    EXPECT_EQ(checkpoint->tensors.total_bytes(), result->bytes_after);
    // F16 has three more bits than BF16 weights need, but a smaller range: tiny weights lose some.
    EXPECT_LT(RelativeRms(Logits(At(path)), wanted), 1e-5) << dtype;
  }
}

// ---- What is refused, and what stays on disk ----

TEST(ConvertModel, NeverOverwrites) {
  const TemporaryFolder folder;
  const auto file = folder.Write("taken", "precious");
  const auto dangling = folder.path() / "link";
  std::filesystem::create_symlink(folder.path() / "nowhere", dangling);
  for (const auto& taken : {file, folder.path(), dangling}) {
    EXPECT_EQ(ConvertModel(Demo(), taken.string(), Type("")).error().code, Code::kInvalidArgument);
    EXPECT_EQ(ConvertModel(Demo(), taken.string(), ToSafetensors("")).error().code, Code::kInvalidArgument);
    EXPECT_EQ(QuantizeModel(Demo(), taken.string(), Type("Q4_0")).error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(*ReadFile(file), "precious");
}

// Cancelled at the first, a middle and the last report: nothing is left, not even a temporary name.
TEST(ConvertModel, CancellingLeavesNothing) {
  const TemporaryFolder folder;
  for (const bool quantize : {false, true}) {
    for (const char* to : {"gguf", "safetensors"}) {
      if (quantize && std::string_view(to) == "safetensors") continue;
      int64_t num_reports = 0, stop_at = -1;
      ConvertOptions options = Type(quantize ? "Q8_0" : "");
      options.to = to;
      options.progress = [&](const Progress& progress) {
        EXPECT_LE(progress.done, progress.total);
        return num_reports++ != stop_at;
      };
      const auto convert = [&](const char* name) {
        num_reports = 0;
        return (quantize ? QuantizeModel : ConvertModel)(Demo(), (folder.path() / name).string(), options);
      };
      ASSERT_TRUE(convert("whole"));
      std::filesystem::remove_all(folder.path() / "whole");
      const int64_t all = num_reports;
      ASSERT_GT(all, 2);
      for (const int64_t stop : {int64_t{0}, all / 2, all - 1}) {
        stop_at = stop;
        EXPECT_EQ(convert("cut").error().code, Code::kCancelled);
        EXPECT_TRUE(IsEmpty(folder.path()));
      }
    }
  }
}

TEST(ConvertModel, DryRunWritesNothing) {
  const TemporaryFolder folder;
  ConvertOptions options = Type("Q4_0");
  options.dry_run = true;
  const auto plan = QuantizeModel(Demo(), (folder.path() / "q.gguf").string(), options);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(IsEmpty(folder.path()));
  options.dry_run = false;
  const auto done = QuantizeModel(Demo(), (folder.path() / "q.gguf").string(), options);
  ASSERT_TRUE(done);
  ASSERT_EQ(plan->plan.size(), done->plan.size());
  EXPECT_EQ(plan->bytes_after, done->bytes_after);
}

TEST(ConvertModel, RefusesBadOptions) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "x").string();
  const auto code_of = [&](const ConvertOptions& options) { return ConvertModel(Demo(), path, options).error().code; };
  EXPECT_EQ(code_of(Type("Q4_0")), Code::kInvalidArgument);
  ConvertOptions options = Type("");
  options.to = "onnx";
  EXPECT_EQ(code_of(options), Code::kInvalidArgument);
  options = Type("");
  options.tensor_types = {{"*", "Q8_0"}};
  EXPECT_EQ(code_of(options), Code::kInvalidArgument);
  options = ToSafetensors("");
  options.metadata = {{"general.name", "x"}};
  EXPECT_EQ(code_of(options), Code::kInvalidArgument);
  EXPECT_EQ(QuantizeModel(Demo(), path, Type("Q4_7")).error().code, Code::kInvalidArgument);
  options = Type("Q4_0");
  options.tensor_types = {{"*", "I32"}};
  EXPECT_EQ(QuantizeModel(Demo(), path, options).error().code, Code::kInvalidArgument);
  EXPECT_EQ(ConvertModel(Demo("gemma4-nano-assistant"), path, Type("")).error().code, Code::kUnsupported);
  EXPECT_EQ(ConvertModel(Demo(), "", Type("")).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(IsEmpty(folder.path()));
}

TEST(ConvertModel, SetsMetadata) {
  const TemporaryFolder folder;
  ConvertOptions options = Type("");
  options.metadata = {
      {"general.name", "12"}, {"my.flag", "true"}, {"my.count", "7"}, {"my.ratio", "0.5"}, {"my.text", "7 apples"}};
  const auto path = folder.path() / "a.gguf";
  ASSERT_TRUE(ConvertModel(Demo(), path.string(), options));
  // From GGUF to GGUF a key keeps its type.
  options.metadata = {{"my.text", "8"}, {"my.ratio", "2"}};
  const auto second = folder.path() / "b.gguf";
  ASSERT_TRUE(ConvertModel(At(path), second.string(), options));
  const auto a = format::GgufFile::Open(path), b = format::GgufFile::Open(second);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a->GetString("general.name"), "12");
  EXPECT_EQ(*a->GetBool("my.flag"), true);
  EXPECT_EQ(*a->GetInt("my.count"), 7);
  EXPECT_EQ(*a->GetFloat("my.ratio"), 0.5);
  EXPECT_EQ(*a->GetString("my.text"), "7 apples");
  EXPECT_EQ(*b->GetString("my.text"), "8");
  EXPECT_EQ(*b->GetFloat("my.ratio"), 2);
  EXPECT_EQ(*b->GetString("general.name"), "12");
}

// Values that a type cannot hold name tensor and row.
TEST(ConvertModel, ReportsValuesThatDoNotFit) {
  const TemporaryFolder folder;
  const auto source = folder.path() / "model";
  std::filesystem::copy(Demo().path, source);
  auto weights = format::OpenSafetensors(source);
  ASSERT_TRUE(weights);
  TensorTable edited = weights->tensors;
  TensorView& view = edited.tensors.at("model.layers.1.mlp.up_proj.weight");
  std::vector<std::byte> bytes(view.data, view.data + view.num_bytes());
  const uint16_t huge = FloatToBf16(1e6f);
  std::memcpy(bytes.data() + 3 * view.row_bytes(), &huge, sizeof(huge));
  view.data = bytes.data();
  ASSERT_TRUE(format::WriteSafetensors(source / "edited", edited, {}, AtomicFile::IfExists::kFail));
  std::filesystem::rename(source / "edited", source / "model.safetensors");
  const auto result = ConvertModel(At(source), (folder.path() / "x.gguf").string(), Type("F16"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_NE(result.error().ToString().find("blk.1.ffn_up.weight, row 3"), std::string::npos)
      << result.error().ToString();
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.gguf"));
}

}  // namespace
}  // namespace quern
