// What the tests of converting and quantising share: the demo checkpoints, options, and the comparison of two models.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "quern/convert.h"
#include "quern/generate.h"

#include "base/file.h"

namespace quern::engine::testing {

inline ModelFile Demo(const std::string& name = "gemma4-nano") {
  ModelFile file;
  file.path = std::string(QUERN_SOURCE_DIR) + "/models/" + name;
  return file;
}
inline ModelFile At(const std::filesystem::path& path) {
  ModelFile file;
  file.path = path.string();
  return file;
}
inline ConvertOptions Type(std::string dtype) {
  ConvertOptions options;
  options.dtype = std::move(dtype);
  options.threads = 2;
  return options;
}
inline ConvertOptions ToSafetensors(std::string dtype) {
  ConvertOptions options = Type(std::move(dtype));
  options.to = "safetensors";
  return options;
}

// The same for every form of a model.
inline std::vector<TokenId> SomeTokens() {
  std::vector<TokenId> ids = {2};
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) ids.push_back(static_cast<TokenId>(300 + random() % 3000));
  return ids;
}

inline std::vector<float> Logits(const ModelFile& file) {
  LoadOptions options;
  options.threads = 2;
  options.kv_type = KvType::kF32;
  options.numerics = NumericsMode::kExact;
  const auto model = Model::Load(file, options);
  EXPECT_TRUE(model) << model.error().ToString();
  if (!model) return {};
  const std::vector<TokenId> ids = SomeTokens();
  std::vector<int32_t> kept(ids.size());
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<int32_t>(i);
  auto result = EvaluateLogits(*model, ids, kept);
  EXPECT_TRUE(result) << result.error().ToString();
  return result ? std::move(result->logits) : std::vector<float>();
}

inline double RelativeRms(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

inline void ExpectSameBytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto x = MappedFile::Open(a), y = MappedFile::Open(b);
  ASSERT_TRUE(x && y);
  EXPECT_TRUE(std::ranges::equal((*x)->bytes(), (*y)->bytes()));
}

}  // namespace quern::engine::testing
