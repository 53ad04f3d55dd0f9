// Quantising the demo checkpoints: every type answers as well as its bits allow, and importances count.
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/test_models.h"
#include "format/gguf_writer.h"
#include "format/safetensors.h"
#include "format/sample_files.h"
#include "models/checkpoint.h"
#include "models/quantize_plan.h"
#include "tensor/codec.h"

namespace quern {
namespace {

using engine::testing::At;
using engine::testing::Demo;
using engine::testing::ExpectSameBytes;
using engine::testing::Logits;
using engine::testing::RelativeRms;
using engine::testing::ToSafetensors;
using engine::testing::Type;
using format::TemporaryFolder;

struct TypeError {
  const char* type;
  double demo_error;  // bound of the relative RMS error of the demo model's logits
};

class Quantize : public ::testing::TestWithParam<TypeError> {};

// Every type writes a file that loads and answers as well as its bits allow. The bounds are about twice what was
// measured: they catch a wrong scale or a wrong tensor, not a change in rounding.
TEST_P(Quantize, LoadsAndStaysClose) {
  static const std::vector<float> wanted = Logits(Demo());
  const TemporaryFolder folder;
  const auto path = folder.path() / "q.gguf";
  const auto result = QuantizeModel(Demo(), path.string(), Type(GetParam().type));
  ASSERT_TRUE(result) << result.error().ToString();
  EXPECT_LT(result->bytes_after, result->bytes_before);
  EXPECT_GE(static_cast<int64_t>(std::filesystem::file_size(path)), result->bytes_after);
  const double error = RelativeRms(Logits(At(path)), wanted);
  RecordProperty("relative_rms", std::to_string(error));
  EXPECT_LT(error, GetParam().demo_error);
  EXPECT_GT(error, 0);
  const auto file = format::GgufFile::Open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(*file->GetInt("general.file_type"), models::ParseQuantizeType(GetParam().type)->file_type);
}
INSTANTIATE_TEST_SUITE_P(Types, Quantize,
                         ::testing::Values(TypeError{"Q8_0", 0.02}, TypeError{"Q6_K", 0.05}, TypeError{"Q5_1", 0.1},
                                           TypeError{"Q5_0", 0.1}, TypeError{"Q5_K", 0.1}, TypeError{"Q5_K_M", 0.1},
                                           TypeError{"Q4_1", 0.2}, TypeError{"Q4_0", 0.2}, TypeError{"Q4_K", 0.2},
                                           TypeError{"Q4_K_M", 0.2}, TypeError{"IQ4_NL", 0.2}, TypeError{"IQ4_XS", 0.2},
                                           TypeError{"MXFP4", 0.4}, TypeError{"Q3_K", 0.4}, TypeError{"Q3_K_M", 0.4},
                                           TypeError{"Q2_K", 0.8}),
                         [](const auto& info) { return std::string(info.param.type); });

TEST(QuantizeModel, QuantisesExperts) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moe.gguf";
  ASSERT_TRUE(QuantizeModel(Demo("gemma4-nano-moe"), path.string(), Type("Q8_0")));
  EXPECT_LT(RelativeRms(Logits(At(path)), Logits(Demo("gemma4-nano-moe"))), 0.05);
}

// Rows are spread over threads; the bytes do not show it.
TEST(QuantizeModel, DoesNotDependOnThreads) {
  const TemporaryFolder folder;
  for (const int threads : {1, 3}) {
    ConvertOptions options = Type("Q4_K");
    options.threads = threads;
    ASSERT_TRUE(QuantizeModel(Demo(), (folder.path() / std::to_string(threads)).string(), options));
  }
  ExpectSameBytes(folder.path() / "1", folder.path() / "3");
}

TEST(QuantizeModel, Requantises) {
  const TemporaryFolder folder;
  const auto q8 = folder.path() / "q8.gguf", q4 = folder.path() / "q4.gguf", up = folder.path() / "up.gguf";
  ASSERT_TRUE(QuantizeModel(Demo(), q8.string(), Type("Q8_0")));
  ASSERT_TRUE(QuantizeModel(At(q8), q4.string(), Type("Q4_0")));
  EXPECT_LT(RelativeRms(Logits(At(q4)), Logits(Demo())), 0.25);
  // Metadata and tokenizer come along.
  const auto first = format::GgufFile::Open(q8), second = format::GgufFile::Open(q4);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->metadata().size(), second->metadata().size());
  const auto result = QuantizeModel(At(q4), up.string(), Type("Q8_0"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->bytes_after, result->bytes_before) << "larger types bring nothing back";
}

// Decoding a quantised file to a folder gives a model with the same answers.
TEST(ConvertModel, DecodesQuantisedFiles) {
  const TemporaryFolder folder;
  const auto q4 = folder.path() / "q4.gguf", decoded = folder.path() / "decoded";
  ASSERT_TRUE(QuantizeModel(Demo("gemma4-nano-moe"), q4.string(), Type("Q4_0")));
  ASSERT_TRUE(ConvertModel(At(q4), decoded.string(), ToSafetensors("F32")));
  // The exact class sums f32 products either way; only the order of factors differs.
  EXPECT_LT(RelativeRms(Logits(At(decoded)), Logits(At(q4))), 1e-4);
}

// ---- Importance matrices ----

std::map<std::string, std::vector<float>> Importances() {
  std::map<std::string, std::vector<float>> values;
  const auto checkpoint = models::OpenCheckpoint(Demo().path);
  std::mt19937 random(11);
  for (const auto& [name, view] : checkpoint->tensors.tensors) {
    if (view.shape.rank() != 2 || !name.starts_with("blk.")) continue;
    for (int64_t i = 0; i < view.row_elems(); ++i) values[name].push_back(std::exp2(static_cast<float>(random() % 8)));
  }
  return values;
}

std::filesystem::path WriteGgufImportances(const TemporaryFolder& folder,
                                           const std::map<std::string, std::vector<float>>& all) {
  const auto path = folder.path() / "imatrix.gguf";
  format::GgufWriter writer;
  writer.SetString("general.type", "imatrix");
  for (const auto& [name, values] : all) {
    EXPECT_TRUE(writer.AddTensor(name + ".in_sum2", DType::kF32, {1, static_cast<int64_t>(values.size())}));
    EXPECT_TRUE(writer.AddTensor(name + ".counts", DType::kF32, {1, 1}));
  }
  EXPECT_TRUE(writer.Begin(path, AtomicFile::IfExists::kReplace));
  const float one = 1;
  for (const auto& [name, values] : all) {
    EXPECT_TRUE(writer.AppendTensorData(std::as_bytes(std::span(values))));
    EXPECT_TRUE(writer.AppendTensorData(std::as_bytes(std::span(&one, 1))));
  }
  EXPECT_TRUE(writer.Finish());
  return path;
}

// The weighted error falls where weights are given, and both file forms say the same.
TEST(QuantizeModel, UsesImportance) {
  const TemporaryFolder folder;
  const auto importances = Importances();
  ConvertOptions weighted = Type("Q4_K");
  weighted.imatrix = WriteGgufImportances(folder, importances).string();
  const auto plain = folder.path() / "plain.gguf", with = folder.path() / "with.gguf",
             with_dat = folder.path() / "dat.gguf";
  ASSERT_TRUE(QuantizeModel(Demo(), plain.string(), Type("Q4_K")));
  const auto result = QuantizeModel(Demo(), with.string(), weighted);
  ASSERT_TRUE(result) << result.error().ToString();

  std::string legacy;
  const auto put = [&](int32_t number) { legacy.append(reinterpret_cast<const char*>(&number), sizeof(number)); };
  put(static_cast<int32_t>(importances.size()));
  for (const auto& [name, values] : importances) {
    put(static_cast<int32_t>(name.size()));
    legacy += name;
    put(1);
    put(static_cast<int32_t>(values.size()));
    legacy.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  weighted.imatrix = folder.Write("imatrix.dat", legacy).string();
  ASSERT_TRUE(QuantizeModel(Demo(), with_dat.string(), weighted));
  ExpectSameBytes(with, with_dat);

  const auto original = models::OpenCheckpoint(Demo().path), a = models::OpenCheckpoint(plain),
             b = models::OpenCheckpoint(with);
  ASSERT_TRUE(original && a && b);
  const auto weighted_error = [&](const models::Checkpoint& checkpoint, const std::string& name) {
    const TensorView &view = *checkpoint.tensors.Find(name), &exact = *original->tensors.Find(name);
    std::vector<float> row(static_cast<size_t>(view.row_elems())), wanted(row.size());
    double error = 0;
    for (int64_t r = 0; r < view.num_rows(); ++r) {
      DecodeRow(view.dtype, view.row(r), row);
      DecodeRow(exact.dtype, exact.row(r), wanted);
      for (size_t i = 0; i < row.size(); ++i)
        error += importances.at(name)[i] * std::pow(static_cast<double>(row[i]) - wanted[i], 2);
    }
    return error;
  };
  EXPECT_LT(weighted_error(*b, "blk.0.attn_q.weight"), weighted_error(*a, "blk.0.attn_q.weight"));
  EXPECT_LT(weighted_error(*b, "blk.5.ffn_down.weight"), weighted_error(*a, "blk.5.ffn_down.weight"));
}

TEST(QuantizeModel, RefusesImportancesOfAnotherModel) {
  const TemporaryFolder folder;
  auto importances = Importances();
  importances.at("blk.0.attn_q.weight").pop_back();
  ConvertOptions options = Type("Q4_K");
  options.imatrix = WriteGgufImportances(folder, importances).string();
  const auto destination = folder.path() / "q.gguf";
  const auto result = QuantizeModel(Demo(), destination.string(), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kCorrupt);
  EXPECT_NE(result.error().message.find("blk.0.attn_q.weight"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(destination));
}

}  // namespace
}  // namespace quern
