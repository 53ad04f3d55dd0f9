#include "models/quantize_plan.h"

#include <gtest/gtest.h>

namespace quern::models {
namespace {

ExportTensor Tensor(std::string name, Shape shape, DType from = DType::kBF16) {
  ExportTensor tensor;
  tensor.name = tensor.canonical = std::move(name);
  tensor.shape = shape;
  tensor.from = tensor.to = from;
  return tensor;
}

// One of each role, at the widths that make trouble: 704 and 2112 are whole blocks of 32 but not of 256, 40 of neither.
std::vector<ExportTensor> Tensors() {
  return {Tensor("token_embd.weight", {4096, 2816}),
          Tensor("per_layer_token_embd.weight", {4096, 8960}),
          Tensor("per_layer_model_proj.weight", {8960, 1536}),
          Tensor("output_norm.weight", {2816}),
          Tensor("rope_freqs.weight", {256}, DType::kF32),
          Tensor("blk.0.attn_q.weight", {4096, 2816}),
          Tensor("blk.0.attn_v.weight", {2048, 2816}),
          Tensor("blk.0.ffn_down.weight", {2816, 2112}),
          Tensor("blk.0.ffn_gate_inp.weight", {128, 2816}),
          Tensor("blk.0.ffn_gate_inp.scale", {2816}),
          Tensor("blk.0.ffn_down_exps.weight", {128, 2816, 704}),
          Tensor("blk.0.layer_output_scale.weight", {1}),
          Tensor("blk.0.proj.weight", {2816, 40}),
          Tensor("masked_embedding.token_ordering", {4096}, DType::kI64)};
}

std::map<std::string, ExportTensor> Plan(std::string_view type, const std::vector<TypeOverride>& overrides = {},
                                         std::vector<ExportTensor> tensors = Tensors()) {
  const auto parsed = ParseQuantizeType(type);
  EXPECT_TRUE(parsed) << type;
  const Status planned = PlanQuantization(*parsed, overrides, &tensors);
  EXPECT_TRUE(planned) << planned.error().ToString();
  std::map<std::string, ExportTensor> plan;
  for (ExportTensor& tensor : tensors) plan.emplace(tensor.name, std::move(tensor));
  return plan;
}

class EveryType : public ::testing::TestWithParam<std::string> {};

// Whatever the type: what needs exact values is F32, the projection of per-layer inputs has 16 bits, embeddings have at
// least the bits of Q6_K, rows are whole blocks, and a type that differs from the one asked for has a reason.
TEST_P(EveryType, HonoursTheRules) {
  const auto type = ParseQuantizeType(GetParam());
  ASSERT_TRUE(type);
  const auto bits = [](DType dtype) { return 8.0 * InfoOf(dtype).block_bytes / InfoOf(dtype).block_elems; };
  for (const auto& [name, tensor] : Plan(GetParam())) {
    EXPECT_EQ(tensor.row_elems() % InfoOf(tensor.to).block_elems, 0) << name;
    switch (UseOf(tensor)) {
      case TensorUse::kExact:
        EXPECT_EQ(tensor.to, DType::kF32) << name;
        break;
      case TensorUse::kHalf:
        EXPECT_EQ(tensor.to, DType::kBF16) << name;
        EXPECT_FALSE(tensor.reason.empty());
        break;
      case TensorUse::kEmbedding:
        EXPECT_GE(bits(tensor.to), bits(DType::kQ6_K)) << name;
        break;
      case TensorUse::kInteger:
        EXPECT_EQ(tensor.to, DType::kI64);
        break;
      case TensorUse::kMatrix:
        EXPECT_GE(bits(tensor.to), bits(type->base)) << name << ": a substitute never has fewer bits";
        if (tensor.to != type->base) EXPECT_FALSE(tensor.reason.empty()) << name;
        break;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, EveryType, ::testing::ValuesIn(QuantizeTypeNames()),
                         [](const auto& info) { return info.param; });

TEST(QuantizePlan, TakesTheNearestTypeWithSmallBlocks) {
  const std::vector<std::pair<std::string_view, DType>> substitutes = {
      {"Q2_K", DType::kIQ4_NL}, {"Q3_K", DType::kIQ4_NL}, {"Q4_K", DType::kIQ4_NL}, {"IQ4_XS", DType::kIQ4_NL},
      {"Q5_K", DType::kQ5_0},   {"Q6_K", DType::kQ8_0},   {"Q4_0", DType::kQ4_0},   {"Q8_0", DType::kQ8_0}};
  for (const auto& [type, wanted] : substitutes) {
    const auto plan = Plan(type);
    EXPECT_EQ(plan.at("blk.0.ffn_down_exps.weight").to, wanted) << type;
    EXPECT_EQ(plan.at("blk.0.proj.weight").to, DType::kBF16) << "rows of 40 fit no block";
  }
  EXPECT_NE(Plan("Q4_K").at("blk.0.ffn_down.weight").reason.find("2112"), std::string::npos);
}

// Google's own Q4_0 files: everything Q4_0, embeddings Q6_K.
TEST(QuantizePlan, MatchesThePublishedQ4Files) {
  const auto plan = Plan("Q4_0");
  EXPECT_EQ(plan.at("token_embd.weight").to, DType::kQ6_K);
  EXPECT_EQ(plan.at("per_layer_token_embd.weight").to, DType::kQ6_K);
  EXPECT_EQ(plan.at("blk.0.ffn_down_exps.weight").to, DType::kQ4_0);
  EXPECT_TRUE(plan.at("blk.0.attn_q.weight").reason.empty());
}

TEST(QuantizePlan, LaterOverridesWin) {
  const auto plan = Plan("Q4_0", {{"blk.*", DType::kQ8_0},
                                  {"blk.?.attn_*", DType::kQ5_1},
                                  {"token_embd.weight", DType::kQ4_0},
                                  {"*norm*", DType::kQ8_0},
                                  {"per_layer_model_proj.weight", DType::kQ8_0}});
  EXPECT_EQ(plan.at("blk.0.ffn_down.weight").to, DType::kQ8_0);
  EXPECT_EQ(plan.at("blk.0.attn_v.weight").to, DType::kQ5_1);
  EXPECT_EQ(plan.at("token_embd.weight").to, DType::kQ4_0) << "asked for by name: the floor does not hold";
  // What a tensor needs wins over what is asked for, and says so.
  EXPECT_EQ(plan.at("output_norm.weight").to, DType::kF32);
  EXPECT_FALSE(plan.at("output_norm.weight").reason.empty());
  EXPECT_EQ(plan.at("per_layer_model_proj.weight").to, DType::kBF16);
  EXPECT_EQ(plan.at("blk.0.ffn_gate_inp.weight").to, DType::kF32);
}

TEST(QuantizePlan, AGlobThatMatchesNothingIsAnError) {
  std::vector<ExportTensor> tensors = Tensors();
  const Status planned = PlanQuantization(*ParseQuantizeType("Q4_0"), {{"blk.*.ffn_dwn.*", DType::kQ8_0}}, &tensors);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code, Code::kInvalidArgument);
  EXPECT_NE(planned.error().message.find("ffn_dwn"), std::string::npos);
}

TEST(QuantizePlan, GlobsMatchAsShellsDo) {
  const auto matches = [](const char* glob) {
    std::vector<ExportTensor> tensors = {Tensor("blk.10.attn_q.weight", {32, 256})};
    return PlanQuantization(*ParseQuantizeType("Q4_0"), {{glob, DType::kQ8_0}}, &tensors).has_value();
  };
  for (const char* glob : {"*", "blk.*", "*weight", "blk.10.attn_q.weight", "b*k*q.w*t", "blk.??.*", "**"})
    EXPECT_TRUE(matches(glob)) << glob;
  for (const char* glob : {"", "blk", "blk.?.*", "weight*", "*.weight.*", "BLK.*"}) EXPECT_FALSE(matches(glob)) << glob;
}

// Requantising: smaller is fine, larger only costs space.
TEST(QuantizePlan, NeverMakesAQuantisedTensorLarger) {
  const std::vector<ExportTensor> q4 = {Tensor("blk.0.attn_q.weight", {256, 256}, DType::kQ4_0),
                                        Tensor("token_embd.weight", {256, 256}, DType::kQ4_0),
                                        Tensor("blk.0.attn_k.weight", {256, 256}, DType::kQ8_0)};
  const auto plan = Plan("Q6_K", {}, q4);
  EXPECT_EQ(plan.at("blk.0.attn_q.weight").to, DType::kQ4_0);
  EXPECT_EQ(plan.at("blk.0.attn_q.weight").reason, "already Q4_0");
  EXPECT_EQ(plan.at("token_embd.weight").to, DType::kQ4_0);
  EXPECT_EQ(plan.at("blk.0.attn_k.weight").to, DType::kQ6_K);
}

// A mix raises attn_v and ffn_down in the first and last eighth of the layers and in every third between.
TEST(QuantizePlan, MixesRaiseSensitiveLayers) {
  std::vector<ExportTensor> tensors;
  for (int layer = 0; layer < 16; ++layer) {
    tensors.push_back(Tensor(fmt::format("blk.{}.attn_v.weight", layer), {256, 256}));
    tensors.push_back(Tensor(fmt::format("blk.{}.attn_q.weight", layer), {256, 256}));
  }
  const auto plan = Plan("Q4_K_M", {}, tensors);
  std::vector<int> raised;
  for (int layer = 0; layer < 16; ++layer) {
    EXPECT_EQ(plan.at(fmt::format("blk.{}.attn_q.weight", layer)).to, DType::kQ4_K);
    if (plan.at(fmt::format("blk.{}.attn_v.weight", layer)).to == DType::kQ6_K) raised.push_back(layer);
  }
  EXPECT_EQ(raised, (std::vector<int>{0, 1, 4, 7, 10, 13, 14, 15}));
}

TEST(QuantizePlan, NamesAreReadInAnyCase) {
  EXPECT_EQ(ParseQuantizeType("q4_k_m")->name, "Q4_K_M");
  const auto unknown = ParseQuantizeType("Q4_2");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().hint.find("Q4_K_M"), std::string::npos) << "the names are listed";
  EXPECT_FALSE(ParseQuantizeType("F16"));
}

TEST(PlanFloats, ConvertsMatricesOnly) {
  std::vector<ExportTensor> tensors = {Tensor("blk.0.attn_q.weight", {4, 32}),
                                       Tensor("blk.0.attn_norm.weight", {32}, DType::kF32),
                                       Tensor("blk.0.attn_k.weight", {4, 32}, DType::kQ4_0)};
  PlanFloats(DType::kF16, &tensors);
  EXPECT_EQ(tensors[0].to, DType::kF16);
  EXPECT_EQ(tensors[1].to, DType::kF32);
  EXPECT_EQ(tensors[2].to, DType::kQ4_0);
  EXPECT_FALSE(tensors[2].reason.empty());
}

}  // namespace
}  // namespace quern::models
