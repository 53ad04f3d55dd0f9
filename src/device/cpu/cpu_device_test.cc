#include "device/cpu/cpu_device.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>
#include <sched.h>

namespace quern::device::cpu {
namespace {

TEST(HostBufferTest, IsAlignedZeroedAndMovable) {
  Result<HostBuffer> made = HostBuffer::Allocate((size_t{4} << 20) + 12);
  ASSERT_TRUE(made.has_value());
  HostBuffer buffer = std::move(*made);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  EXPECT_EQ(buffer.size_bytes(), (size_t{4} << 20) + 12);
  for (const uint32_t word : buffer.as<uint32_t>()) ASSERT_EQ(word, 0u);
  buffer.as<uint32_t>()[7] = 42;

  HostBuffer other = std::move(buffer);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(other.as<uint32_t>()[7], 42u);
}

TEST(HostBufferTest, EmptyIsNoMemory) {
  const Result<HostBuffer> made = HostBuffer::Allocate(0);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->data(), nullptr);
}

TEST(HostBufferTest, RefusalNamesTheBytes) {
  const size_t absurd = size_t{1} << 60;
  const Result<HostBuffer> made = HostBuffer::Allocate(absurd);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::kResourceExhausted);
  EXPECT_NE(made.error().message.find(std::to_string(absurd)), std::string::npos);
}

TEST(CpuFeaturesTest, BestIsaIsOneThatTheProcessorHas) {
  const CpuFeatures& host = CpuFeatures::Host();
  EXPECT_FALSE(host.model_name.empty());
  EXPECT_EQ(BestIsa(host), host.avx2 ? Isa::kAvx2 : Isa::kPortable);
  CpuFeatures wide;
  wide.avx2 = wide.avx512 = wide.avx512_vnni = true;
  EXPECT_EQ(BestIsa(wide), Isa::kAvx2);  // no AVX-512 kernel has been tested yet
  EXPECT_EQ(wide.ToString(), "avx2 avx512 vnni");
  EXPECT_EQ(CpuFeatures{}.ToString(), "baseline");
}

TEST(CpuDeviceTest, TeamSizeFollowsOptionsAndAffinity) {
  EXPECT_EQ(CpuDevice({.num_threads = 3}).num_threads(), 3);
  EXPECT_GT(CpuDevice::UsableMemoryBytes(), int64_t{1} << 20);

  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(CpuDevice::UsableProcessors(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(CpuDevice::UsableProcessors(), 1);
  EXPECT_EQ(CpuDevice().num_threads(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace quern::device::cpu
