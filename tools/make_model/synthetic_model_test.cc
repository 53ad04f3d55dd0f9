#include "make_model/synthetic_model.h"

#include <set>

#include <gtest/gtest.h>

#include "make_model/synthetic_vocabulary.h"
#include "models/registry.h"

namespace quern::tools {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quern-synthetic-XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The published sizes: parameters in all (docs/models/gemma4.md), and tensors of a file without redundant K/V.
struct Published {
  const char* preset;
  double millions;
  int num_layers, num_tensors;
};
class Presets : public ::testing::TestWithParam<Published> {};

TEST_P(Presets, HaveThePublishedShape) {
  const auto config = PresetConfig(GetParam().preset, 0);
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->num_layers(), GetParam().num_layers);
  EXPECT_EQ(config->layers.back().type, models::gemma4::LayerType::kFull);
  const auto plan = PlanSyntheticModel({.preset = GetParam().preset});
  ASSERT_TRUE(plan) << plan.error().ToString();
  EXPECT_NEAR(static_cast<double>(plan->num_parameters) / 1e6, GetParam().millions, 0.005 * GetParam().millions);
  EXPECT_EQ(plan->num_tensors, GetParam().num_tensors);
}
INSTANTIATE_TEST_SUITE_P(Sizes, Presets,
                         ::testing::Values(Published{"E2B", 4628.6, 35, 541}, Published{"E4B", 7463.0, 42, 666},
                                           Published{"26B-A4B", 25244.0, 30, 658}, Published{"31B", 30697.3, 60, 833}));

// Donors of the published models: the last layers of each type that own K/V.
TEST(PresetConfig, SharesKeysAndValuesAsPublished) {
  const auto e2b = PresetConfig("E2B", 0);
  ASSERT_TRUE(e2b);
  EXPECT_EQ(e2b->layers[15].kv_donor, 13);
  EXPECT_EQ(e2b->layers[34].kv_donor, 14);
  EXPECT_EQ(e2b->layers[15].intermediate, 12288);
  const auto e4b = PresetConfig("E4B", 0);
  ASSERT_TRUE(e4b);
  EXPECT_EQ(e4b->layers[24].kv_donor, 22);
  EXPECT_EQ(e4b->layers[41].kv_donor, 23);
}

TEST(PresetConfig, ShrinksToFewLayers) {
  for (const std::string& preset : PresetNames()) {
    for (const int layers : {2, 5, 6, 7, 12}) EXPECT_TRUE(PresetConfig(preset, layers)) << preset << " " << layers;
  }
  EXPECT_EQ(PresetConfig("12B", 0).error().code, Code::kInvalidArgument);
}

TEST(SyntheticVocabulary, HasThePublishedLayout) {
  const format::Vocabulary vocabulary = MakeSyntheticVocabulary();
  ASSERT_EQ(vocabulary.pieces.size(), 262144u);
  EXPECT_EQ(vocabulary.merges.size(), 514906u);
  EXPECT_EQ(vocabulary.pieces[106], "<turn|>");
  EXPECT_EQ(vocabulary.pieces[107], "\n");
  EXPECT_EQ(vocabulary.pieces[238 + 65], "<0x41>");
  EXPECT_EQ(vocabulary.pieces[236743], "\xE2\x96\x81");
  const std::set<std::string> distinct(vocabulary.pieces.begin(), vocabulary.pieces.end());
  EXPECT_EQ(distinct.size(), vocabulary.pieces.size());
  // Every merge can be applied: halves and result are pieces.
  for (const auto& [left, right] : vocabulary.merges) {
    ASSERT_TRUE(distinct.contains(left) && distinct.contains(right) && distinct.contains(left + right))
        << left << "+" << right;
  }
}

// A small one is a file that this build loads, with the same bytes for every number of threads.
TEST(SyntheticModel, LoadsAndIsReproducible) {
  const TemporaryFolder folder;
  SyntheticOptions options;
  options.preset = "E2B";
  options.num_layers = 6;
  // The per-layer table is most of the file: two bits are enough here.
  options.tensor_types = {{"per_layer_token_embd.weight", DType::kQ2_K}, {"token_embd.weight", DType::kQ4_0}};
  const auto path = folder.path() / "a.gguf";
  const auto written = WriteSyntheticModel(options, path);
  ASSERT_TRUE(written) << written.error().ToString();
  EXPECT_EQ(WriteSyntheticModel(options, path).error().code, Code::kInvalidArgument);

  const auto checkpoint = models::OpenCheckpoint(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().ToString();
  EXPECT_EQ(checkpoint->tensors.total_bytes(), written->num_bytes);
  const auto decoder = models::MakeDecoder(*checkpoint);
  ASSERT_TRUE(decoder) << decoder.error().ToString();
  const auto program = (*decoder)->BuildProgram({});
  EXPECT_TRUE(program) << program.error().ToString();

  options.num_threads = 3;
  ASSERT_TRUE(WriteSyntheticModel(options, folder.path() / "b.gguf"));
  const auto first = MappedFile::Open(path), second = MappedFile::Open(folder.path() / "b.gguf");
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(std::ranges::equal((*first)->bytes(), (*second)->bytes()));
}

}  // namespace
}  // namespace quern::tools
