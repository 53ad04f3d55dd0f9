// Parity with golden values of the transformers implementation (README.md beside this file says how they were made and
// how much each planted fault would show): per-layer hidden states, logits, greedy continuations.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "golden_model.h"

namespace quern::golden {
namespace {

// Random checkpoints, fp32: correct arithmetic reaches 1e-5 on short prompts and 5e-5 on long ones; the weakest fault
// that must be caught, a missing softcap, shows 1.1e-2.
constexpr double kRandomGate = 2e-4;
// Demo checkpoints: their golden values carry TF32 noise of 5e-4; the weakest fault shows 1.3e-2.
constexpr double kDemoGate = 2e-3;

class RandomCheckpoint : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string("tests/golden/") + GetParam(); }
};

TEST_P(RandomCheckpoint, HiddenStatesAndLogitsOfTheShortPrompt) {
  ModelOptions options;
  options.capture_hidden = true;
  const auto model = GoldenModel::Open(folder(), options);
  ASSERT_NE(model, nullptr);
  const GoldenValues golden(folder());
  const std::vector<int32_t> ids = golden.Ints("short.ids");
  const std::vector<float> logits = model->LastLogits(ids, static_cast<int>(ids.size()));
  for (size_t layer = 0; layer < model->program().captures.size(); ++layer) {
    const double error = RelativeRms(model->executor().Read(model->program().captures[layer]),
                                     golden.Floats("short.hidden" + std::to_string(layer)));
    EXPECT_LT(error, kRandomGate) << "hidden state " << layer;
  }
  EXPECT_FALSE(golden.Has("short.hidden" + std::to_string(model->program().captures.size())));
  const double error = RelativeRms(logits, golden.Floats("short.logits"));
  RecordProperty("relative_rms", std::to_string(error));
  EXPECT_LT(error, kRandomGate);
}

// Longer than the window of 32: sees windows, donors and the ring of pages.
TEST_P(RandomCheckpoint, LogitsOfTheLongPromptWholeAndInChunks) {
  const GoldenValues golden(folder());
  const std::vector<int32_t> ids = golden.Ints("long.ids");
  std::vector<float> whole;
  for (const int chunk : {512, 64, 17, 1}) {
    ModelOptions options;
    options.chunk = chunk;
    const auto model = GoldenModel::Open(folder(), options);
    ASSERT_NE(model, nullptr);
    const std::vector<float> logits = model->LastLogits(ids, 6);
    EXPECT_LT(RelativeRms(logits, golden.Floats("long.logits")), kRandomGate) << "chunk " << chunk;
    if (whole.empty()) whole = logits;
    EXPECT_EQ(logits, whole) << "chunk " << chunk << " differs from one step in its bits";
  }
}

TEST_P(RandomCheckpoint, ThreadsAndInstructionSetsAgreeBitForBit) {
  const GoldenValues golden(folder());
  const std::vector<int32_t> ids = golden.Ints("long.ids");
  std::vector<float> first;
  for (const device::cpu::Isa isa :
       {device::cpu::Isa::kPortable, device::cpu::BestIsa(device::cpu::CpuFeatures::Host())}) {
    for (const int threads : {1, 2, 3}) {
      ModelOptions options;
      options.threads = threads;
      options.isa = isa;
      const auto model = GoldenModel::Open(folder(), options);
      ASSERT_NE(model, nullptr);
      const std::vector<float> logits = model->LastLogits(ids, 6);
      if (first.empty()) first = logits;
      EXPECT_EQ(logits, first) << threads << " threads, " << device::cpu::NameOf(isa);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomCheckpoint,
                         testing::Values("gemma4-e2b-like", "gemma4-e4b-like", "gemma4-26b-a4b-like",
                                         "gemma4-31b-like"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class DemoCheckpoint : public testing::TestWithParam<const char*> {
 protected:
  std::string folder() const { return std::string("models/") + GetParam(); }
};

TEST_P(DemoCheckpoint, HiddenStatesAndLogits) {
  ModelOptions options;
  options.capture_hidden = true;
  const auto model = GoldenModel::Open(folder(), options);
  ASSERT_NE(model, nullptr);
  const GoldenValues golden(folder());
  for (int prompt = 0; prompt < 6; ++prompt) {
    const std::string name = "prompt" + std::to_string(prompt);
    const std::vector<int32_t> ids = golden.Ints(name + ".ids");
    const std::vector<float> wanted = golden.Floats(name + ".logits");
    const int rows = static_cast<int>(wanted.size() / model->program().vocab_size);
    const std::vector<float> logits = model->LastLogits(ids, rows);
    EXPECT_LT(RelativeRms(logits, wanted), kDemoGate) << name;
    if (prompt > 0) continue;
    for (size_t layer = 0; layer < model->program().captures.size(); ++layer) {
      EXPECT_LT(RelativeRms(model->executor().Read(model->program().captures[layer]),
                            golden.Floats("prompt0.hidden" + std::to_string(layer))),
                kDemoGate)
          << "hidden state " << layer;
    }
  }
}

TEST_P(DemoCheckpoint, GreedyContinuationsAreTokenExact) {
  const auto model = GoldenModel::Open(folder());
  ASSERT_NE(model, nullptr);
  const GoldenValues golden(folder());
  for (int prompt = 0; prompt < 6; ++prompt) {
    const std::string name = "prompt" + std::to_string(prompt);
    const std::vector<int32_t> wanted = golden.Ints(name + ".greedy");
    EXPECT_EQ(model->Greedy(golden.Ints(name + ".ids"), static_cast<int>(wanted.size())), wanted) << name;
  }
}

// Pages of the sliding layers form a ring; a model run with chunks so large that nothing is ever overwritten is the
// full cache.
TEST_P(DemoCheckpoint, WindowPagesEqualAFullCacheBeyondTwiceTheWindow) {
  const GoldenValues golden(folder());
  const std::vector<int32_t> ids = golden.Ints("prompt5.ids");  // 593 tokens; the window is 128
  ModelOptions full;
  full.chunk = 1024;
  ModelOptions ring;
  ring.chunk = 32;
  const auto full_model = GoldenModel::Open(folder(), full), ring_model = GoldenModel::Open(folder(), ring);
  ASSERT_NE(full_model, nullptr);
  ASSERT_NE(ring_model, nullptr);
  EXPECT_EQ(full_model->LastLogits(ids, 8), ring_model->LastLogits(ids, 8));
  EXPECT_EQ(full_model->Greedy(ids, 40), ring_model->Greedy(ids, 40));
}

INSTANTIATE_TEST_SUITE_P(All, DemoCheckpoint, testing::Values("gemma4-nano", "gemma4-nano-moe"), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace quern::golden
