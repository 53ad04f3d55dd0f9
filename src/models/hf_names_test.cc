#include "models/hf_names.h"

#include <gtest/gtest.h>

#include "models/checkpoint.h"
#include "models/registry.h"

namespace quern::models {
namespace {

TEST(HfNames, PrefixesOfAllPublishedFormsAreStripped) {
  for (const char* prefix : {"model.language_model.", "language_model.model.", "model.", ""}) {
    EXPECT_EQ(CanonicalTensorName("gemma4", std::string(prefix) + "layers.12.self_attn.q_proj.weight"),
              "blk.12.attn_q.weight");
    EXPECT_EQ(CanonicalTensorName("gemma3", std::string(prefix) + "norm.weight"), "output_norm.weight");
  }
}

TEST(HfNames, OtherTensorsHaveNone) {
  for (const char* name : {"model.vision_tower.encoder.layers.0.mlp.gate_proj.weight", "model.layers.x.layer_scalar",
                           "model.layers..layer_scalar", "model.layers.12345678.layer_scalar",
                           "model.layers.1.self_attn.rotary_emb.inv_freq", "lm_head.weight", ""}) {
    EXPECT_EQ(CanonicalTensorName("gemma4", name), std::nullopt) << name;
  }
  EXPECT_EQ(HfTensorName("gemma4", "rope_freqs.weight"), std::nullopt);
  EXPECT_EQ(HfTensorName("gemma4", "blk.0.ffn_up_exps.weight"), std::nullopt) << "Hugging Face fuses gate and up";
}

// Every tensor of every checkpoint goes there and back.
TEST(HfNames, BothDirectionsAgree) {
  for (const char* path : {"models/gemma4-nano", "models/gemma4-nano-moe", "tests/golden/gemma4-e4b-like"}) {
    const auto checkpoint = OpenCheckpoint(std::string(QUERN_SOURCE_DIR) + "/" + path);
    ASSERT_TRUE(checkpoint);
    ASSERT_FALSE(checkpoint->tensors.tensors.empty());
    for (const auto& [name, view] : checkpoint->tensors.tensors) {
      const auto hf = HfTensorName("gemma4", name);
      ASSERT_TRUE(hf) << name;
      EXPECT_EQ(CanonicalTensorName("gemma4", *hf), name);
    }
  }
}

}  // namespace
}  // namespace quern::models
