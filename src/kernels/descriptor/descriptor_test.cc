// A descriptor's identity depends on its meaning alone, and on all of it.
#include "kernels/descriptor/descriptor.h"

#include <set>

#include <gtest/gtest.h>

namespace quern::kernels {
namespace {

Descriptor Matmul() {
  return {.family = Family::kMatmul,
          .weights = {{DType::kQ4_0, Layout::kRp16}},
          .in = Encoding::kQa8,
          .out = Encoding::kF32,
          .dims = {{"N", 16, 1 << 20, 16}, {"K", 32, 1 << 16, 32}, {"R", 1, 8, 1}},
          .epilogue = {Epilogue::kStore},
          .numerics = NumericsClass::kDotI8};
}

TEST(Descriptor, TextIsCanonical) {
  EXPECT_EQ(CanonicalText(Matmul()),
            "dims=K:32..65536*32,N:16..1048576*16,R:1..8*1;epilogue=store;family=matmul;in=qa8;numerics=dot-i8;out=f32;"
            "weights=q4_0:rp16");
  Descriptor shuffled = Matmul();
  std::swap(shuffled.dims[0], shuffled.dims[2]);
  EXPECT_EQ(DescriptorId(shuffled), DescriptorId(Matmul()));
  EXPECT_EQ(DescriptorId(Matmul()).size(), 16u);
}

TEST(Descriptor, EveryFieldCounts) {
  std::set<std::string> ids = {DescriptorId(Matmul())};
  const auto changed = [&](auto change) {
    Descriptor d = Matmul();
    change(d);
    return ids.insert(DescriptorId(d)).second;
  };
  EXPECT_TRUE(changed([](Descriptor& d) { d.family = Family::kGatedMatmul; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.weights[0].format = DType::kQ8_0; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.weights[0].layout = Layout::kFile; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.in = Encoding::kF32; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.out = Encoding::kF16; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.dims[0].max /= 2; }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.epilogue.push_back(Epilogue::kSoftcap); }));
  EXPECT_TRUE(changed([](Descriptor& d) { d.numerics = NumericsClass::kDotF; }));
}

TEST(Descriptor, KernelIdNamesBoth) {
  const std::string id = KernelId(Matmul(), {.mma = Mma::kM16N8K32});
  EXPECT_EQ(id.substr(0, id.rfind('.')), "matmul.q4_0.qa8.rows1_8.rp16.m16n8k32");
  EXPECT_NE(KernelId(Matmul(), {.mma = Mma::kM16N8K32, .stages = 3}), id);
  EXPECT_EQ(id.size() - id.rfind('.') - 1, 8u);
}

}  // namespace
}  // namespace quern::kernels
