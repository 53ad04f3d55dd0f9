// Perplexity against its definition, and the file of log-probabilities.
#include "quern/perplexity.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "quern/generate.h"

#include "engine/kl_base_file.h"
#include "format/sample_files.h"

namespace quern {
namespace {

using format::TemporaryFolder;

std::shared_ptr<Model> LoadNano(int threads = 2, NumericsMode numerics = NumericsMode::kDefault) {
  ModelFile file;
  file.path = std::string(QUERN_SOURCE_DIR) + "/models/gemma4-nano";
  LoadOptions options;
  options.threads = threads;
  options.context = 128;
  options.numerics = numerics;
  const auto model = Model::Load(file, options);
  EXPECT_TRUE(model);
  return model ? *model : nullptr;
}

std::vector<TokenId> Tokens(int count) {
  std::mt19937 random(9);
  std::vector<TokenId> ids;
  for (int i = 0; i < count; ++i) ids.push_back(static_cast<TokenId>(300 + random() % 3000));
  return ids;
}

PerplexityOptions Chunks(int64_t context, int64_t stride, int64_t score_from) {
  PerplexityOptions options;
  options.context = context;
  options.stride = stride;
  options.score_from = score_from;
  return options;
}

// The definition, written out: chunks of 40 every 25, <bos> first, tokens 10..39 scored given the earlier ones.
TEST(Perplexity, FollowsItsDefinition) {
  const auto model = LoadNano();
  ASSERT_NE(model, nullptr);
  const std::vector<TokenId> ids = Tokens(100);
  std::vector<double> losses;
  for (size_t begin = 0; begin + 40 <= ids.size(); begin += 25) {
    std::vector<TokenId> chunk(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                               ids.begin() + static_cast<std::ptrdiff_t>(begin) + 40);
    chunk.front() = 2;
    std::vector<int32_t> kept;
    for (int32_t i = 9; i < 39; ++i) kept.push_back(i);
    const auto evaluated = EvaluateLogits(model, chunk, kept);
    ASSERT_TRUE(evaluated);
    const auto vocab = static_cast<size_t>(evaluated->vocab_size);
    for (size_t row = 0; row < kept.size(); ++row) {
      const float* logits = evaluated->logits.data() + row * vocab;
      double sum = 0;
      for (size_t i = 0; i < vocab; ++i) sum += std::exp(static_cast<double>(logits[i]));
      losses.push_back(std::log(sum) - logits[chunk[row + 10]]);
    }
  }
  double mean = 0, variance = 0;
  for (const double loss : losses) mean += loss / static_cast<double>(losses.size());
  for (const double loss : losses) variance += (loss - mean) * (loss - mean) / static_cast<double>(losses.size() - 1);

  const auto result = MeasurePerplexityOfTokens(model, ids, Chunks(40, 25, 10));
  ASSERT_TRUE(result) << result.error().ToString();
  EXPECT_EQ(result->chunks, 3);
  EXPECT_EQ(result->scored_tokens, 90);
  EXPECT_NEAR(result->perplexity, std::exp(mean), 1e-5 * std::exp(mean));  // log-probabilities are rounded to f32
  EXPECT_NEAR(result->standard_error, std::exp(mean) * std::sqrt(variance / 90), 1e-3 * result->standard_error);
}

TEST(Perplexity, DefaultsScoreTheSecondHalf) {
  const auto model = LoadNano();
  PerplexityOptions options;
  options.context = 64;
  options.max_chunks = 2;
  const auto result = MeasurePerplexityOfTokens(model, Tokens(300), options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->chunks, 2);
  EXPECT_EQ(result->scored_tokens, 64);
}

TEST(Perplexity, DoesNotDependOnThreads) {
  const auto one = MeasurePerplexityOfTokens(LoadNano(1), Tokens(128), Chunks(64, 0, 1));
  const auto three = MeasurePerplexityOfTokens(LoadNano(3), Tokens(128), Chunks(64, 0, 1));
  ASSERT_TRUE(one && three);
  EXPECT_EQ(one->perplexity, three->perplexity);
}

// Against itself nothing diverges; against other numerics a little does.
TEST(Perplexity, ComparesWithABase) {
  const TemporaryFolder folder;
  const auto model = LoadNano();
  PerplexityOptions options = Chunks(64, 0, 1);
  options.kl_base_out = (folder.path() / "base.kl").string();
  ASSERT_TRUE(MeasurePerplexityOfTokens(model, Tokens(128), options));
  EXPECT_FALSE(MeasurePerplexityOfTokens(model, Tokens(128), options)) << "an existing base is not overwritten";
  options.kl_base_in = std::exchange(options.kl_base_out, "");
  const auto same = MeasurePerplexityOfTokens(model, Tokens(128), options);
  ASSERT_TRUE(same) << same.error().ToString();
  // Stored log-probabilities are rounded by up to 3e-4 nats, which enters the divergence in second order.
  EXPECT_NEAR(same->mean_kl, 0, 3e-4);
  EXPECT_GT(same->top1_agreement, 0.98) << "only ties within the rounding may differ";
  const auto other = MeasurePerplexityOfTokens(LoadNano(2, NumericsMode::kExact), Tokens(128), options);
  ASSERT_TRUE(other);
  EXPECT_LT(std::abs(other->mean_kl), 0.05);

  const auto mismatch = MeasurePerplexityOfTokens(model, Tokens(192), options);
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().code, Code::kInvalidArgument) << "more chunks than the base has";
  std::vector<TokenId> edited = Tokens(128);
  edited[100] = 301;
  EXPECT_FALSE(MeasurePerplexityOfTokens(model, edited, options)) << "another text";
}

TEST(Perplexity, RefusesBadOptions) {
  const auto model = LoadNano();
  const auto code_of = [&](const PerplexityOptions& options, int count = 128) {
    const auto result = MeasurePerplexityOfTokens(model, Tokens(count), options);
    return result ? std::string("accepted") : std::string(CodeName(result.error().code));
  };
  EXPECT_EQ(code_of(Chunks(64, 0, 1)), "accepted");
  EXPECT_EQ(code_of(Chunks(64, 0, 1), 63), "invalid_argument") << "shorter than a chunk";
  EXPECT_EQ(code_of(Chunks(129, 0, 1)), "invalid_argument") << "beyond what was loaded";
  EXPECT_EQ(code_of(Chunks(1, 0, 1)), "invalid_argument");
  EXPECT_EQ(code_of(Chunks(64, 65, 1)), "invalid_argument") << "gaps between chunks";
  EXPECT_EQ(code_of(Chunks(64, 0, 64)), "invalid_argument");
  EXPECT_EQ(code_of(Chunks(64, 0, 0)), "invalid_argument") << "nothing predicts the first token";
  PerplexityOptions cancelled = Chunks(64, 0, 1);
  cancelled.progress = [](const Progress& progress) { return progress.done == 0; };
  EXPECT_EQ(code_of(cancelled), "cancelled");
  // 128 tokens in chunks of 64: the report counts chunks, from none to all.
  std::vector<int64_t> reported;
  PerplexityOptions counted = Chunks(64, 0, 1);
  counted.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.unit, "chunks");
    EXPECT_EQ(progress.total, 2);
    reported.push_back(progress.done);
    return true;
  };
  EXPECT_EQ(code_of(counted), "accepted");
  EXPECT_EQ(reported, (std::vector<int64_t>{0, 1, 2}));
  const std::vector<TokenId> outside = {2, 5000, 7, 8};
  EXPECT_FALSE(MeasurePerplexityOfTokens(model, outside, Chunks(4, 0, 1)));
}

TEST(KlBaseFile, RowsKeepThePrecisionTheyPromise) {
  std::vector<float> logprobs(1000), decoded(1000);
  std::mt19937 random(1);
  for (float& value : logprobs) value = -20.0f * static_cast<float>(random()) / 4294967296.0f;
  std::vector<std::byte> row(static_cast<size_t>(engine::KlRowBytes(logprobs.size())));
  engine::EncodeKlRow(logprobs, row);
  engine::DecodeKlRow(row, decoded);
  for (size_t i = 0; i < logprobs.size(); ++i) EXPECT_NEAR(decoded[i], logprobs[i], 20.0 / 65535 / 2 * 1.05);
  const std::vector<float> flat(1000, -6.9f);
  engine::EncodeKlRow(flat, row);
  engine::DecodeKlRow(row, decoded);
  EXPECT_EQ(decoded, flat);
}

// Every prefix of a base file, and one with a wrong count, is refused.
TEST(KlBaseFile, RefusesBrokenFiles) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.kl";
  const engine::KlBaseHeader header{5, 2, 8, 8, 1, 42};
  auto writer = engine::KlBaseWriter::Create(path, header);
  ASSERT_TRUE(writer);
  const std::vector<std::byte> rows(static_cast<size_t>(2 * engine::KlRowBytes(5)));
  ASSERT_TRUE(writer->Append(rows));
  ASSERT_TRUE(writer->Finish());
  const auto reader = engine::KlBaseReader::Open(path);
  ASSERT_TRUE(reader) << reader.error().ToString();
  EXPECT_EQ(reader->header(), header);
  const std::string bytes = *ReadFile(path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(engine::KlBaseReader::Open(folder.Write("cut", bytes.substr(0, size)))) << size;
  }
  EXPECT_FALSE(engine::KlBaseReader::Open(folder.Write("long", bytes + std::string(18, '\0'))));
}

}  // namespace
}  // namespace quern
