// Held-out perplexity of the demo checkpoints, from the recipe in models/README.md: text from WordNet (Debian package
// wordnet-base) by tools/demo_models/corpus.py with seed 1, 200 rows of 1,024 tokens.
//
// Numbers: the golden loss of training is reproduced within 0.5 %. The same rows then bound what quantised weights and
// int8 activations may cost.
#include "quern/perplexity.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/convert.h"
#include "quern/tokenize.h"

#include "base/file.h"
#include "base/json.h"

namespace quern {
namespace {

constexpr const char* kWordnet = "/usr/share/wordnet";
constexpr size_t kRowTokens = 1024;

std::string Source(const std::string& path) { return std::string(QUERN_SOURCE_DIR) + "/" + path; }

// The first `rows` held-out rows, joined.
std::vector<TokenId> HeldOutTokens(const std::string& model, size_t rows) {
  const std::filesystem::path corpus =
      std::filesystem::temp_directory_path() / ("quern_held_out_" + std::to_string(::getpid()) + ".jsonl");
  const std::string command =
      "python3 " + Source("tools/demo_models/corpus.py") + " " + kWordnet + " " + corpus.string() + " 8000 1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  const auto text = TextModel::Load({Source("models/" + model), {}, {}, false});
  EXPECT_TRUE(text.has_value());
  const TokenId eos = (*text)->Encode("<eos>", {true, false}).at(0);
  std::vector<TokenId> tokens;
  std::ifstream file(corpus);
  for (std::string line; tokens.size() < rows * kRowTokens && std::getline(file, line);) {
    const auto document = ParseJson(line, "corpus line");
    std::string rendered;
    for (const Json& turn : (*document)["turns"]) {
      rendered += "<|turn>" + turn[0].get<std::string>() + "\n" + turn[1].get<std::string>() + "<turn|>\n";
    }
    const auto ids = (*text)->Encode(rendered, {true, true});
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    tokens.push_back(eos);
  }
  std::filesystem::remove(corpus);
  EXPECT_GE(tokens.size(), rows * kRowTokens);
  tokens.resize(rows * kRowTokens);
  return tokens;
}

double Perplexity(const std::string& path, std::span<const TokenId> tokens, const LoadOptions& options) {
  const auto loaded = Model::Load({path, {}, {}, false}, options);
  EXPECT_TRUE(loaded.has_value());
  PerplexityOptions how;
  how.context = kRowTokens;
  how.score_from = 1;
  how.add_bos = false;
  const auto result = MeasurePerplexityOfTokens(*loaded, tokens, how);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().ToString());
  return result ? result->perplexity : NAN;
}

class HeldOut : public testing::TestWithParam<const char*> {};

TEST_P(HeldOut, PerplexityOfTrainingIsReproduced) {
  ASSERT_TRUE(std::filesystem::exists(kWordnet)) << "install Debian's wordnet-base (scripts/bootstrap does)";
  const auto golden = ParseJson(*ReadFile(Source(std::string("models/") + GetParam() + "/golden.json")), "golden.json");
  const double wanted = std::exp((*golden)["held_out_loss"].get<double>());
  const std::vector<TokenId> tokens = HeldOutTokens(GetParam(), 200);
  const double measured = Perplexity(Source(std::string("models/") + GetParam()), tokens, {});
  std::printf("%s: perplexity %.4f, golden %.4f\n", GetParam(), measured, wanted);
  EXPECT_NEAR(measured / wanted, 1.0, 0.005);
}

// What quantising costs, on 20 of the rows. Bounds: measured ratios (docs/quantization.md) with a margin of about a
// half, so that a codec or a kernel that got worse is seen. QUERN_ALL_TYPES=1 prints the table for every type.
TEST(Quantised, PerplexityStaysWithinItsBound) {
  ASSERT_TRUE(std::filesystem::exists(kWordnet)) << "install Debian's wordnet-base (scripts/bootstrap does)";
  struct Bound {
    const char* type;
    double ratio;  // to the BF16 checkpoint
  };
  constexpr Bound kBounds[] = {{"Q8_0", 1.005}, {"Q4_0", 1.035}, {"Q4_K", 1.02}};
  constexpr const char* kOthers[] = {"Q4_1", "Q5_0", "Q5_1",   "Q2_K",   "Q3_K",
                                     "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4"};
  const std::string source = Source("models/gemma4-nano");
  const std::vector<TokenId> tokens = HeldOutTokens("gemma4-nano", 20);
  const double base = Perplexity(source, tokens, {});
  std::printf("%-8s %10s %10s %8s\n%-8s %10s %10.4f\n", "type", "bytes", "perplexity", "ratio", "BF16 in", "", base);
  const auto measure = [&](const std::string& type) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("quern_" + type + "_" + std::to_string(::getpid()) + ".gguf");
    ConvertOptions options;
    options.dtype = type;
    const auto made = QuantizeModel({source, {}, {}, false}, file.string(), options);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().ToString());
    if (!made) return NAN;
    const double perplexity = Perplexity(file.string(), tokens, {});
    std::printf("%-8s %10ju %10.4f %8.4f\n", type.c_str(), static_cast<uintmax_t>(std::filesystem::file_size(file)),
                perplexity, perplexity / base);
    std::filesystem::remove(file);
    return static_cast<float>(perplexity / base);
  };
  for (const Bound& bound : kBounds) EXPECT_LE(measure(bound.type), bound.ratio) << bound.type;
  if (std::getenv("QUERN_ALL_TYPES") == nullptr) return;
  for (const char* type : kOthers) EXPECT_LT(measure(type), 10) << type;
}

INSTANTIATE_TEST_SUITE_P(All, HeldOut, testing::Values("gemma4-nano", "gemma4-nano-moe"), [](const auto& test) {
  return std::string(test.param) == "gemma4-nano" ? "nano" : "nano_moe";
});

}  // namespace
}  // namespace quern
