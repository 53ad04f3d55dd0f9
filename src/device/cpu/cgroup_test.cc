#include "device/cpu/cgroup.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace quern::device::cpu {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("quern_cgroup_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  CgroupLimits Read(std::string_view proc) const { return ReadCgroupLimits(proc, root_.string()); }

  std::filesystem::path root_;
};

TEST_F(CgroupTest, Version2TakesTheTightestOfGroupAndAncestors) {
  Write("a/b/cpu.max", "350000 100000\n");
  Write("a/cpu.max", "200000 100000\n");
  Write("cpu.max", "max 100000\n");
  Write("a/b/memory.max", "max\n");
  Write("a/memory.max", "4096\n");
  const CgroupLimits limits = Read("0::/a/b\n");
  ASSERT_TRUE(limits.processors.has_value());
  EXPECT_DOUBLE_EQ(*limits.processors, 2.0);
  ASSERT_TRUE(limits.memory_bytes.has_value());
  EXPECT_EQ(*limits.memory_bytes, 4096);
}

TEST_F(CgroupTest, Version1ReadsQuotaAndMemory) {
  Write("cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  Write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  Write("memory/job/memory.limit_in_bytes", "1073741824\n");
  const CgroupLimits limits = Read("4:cpu,cpuacct:/job\n7:memory:/job\n0::/\n");
  ASSERT_TRUE(limits.processors.has_value());
  EXPECT_DOUBLE_EQ(*limits.processors, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1073741824);
}

TEST_F(CgroupTest, NothingWrittenLimitsNothing) {
  Write("cpu/cpu.cfs_quota_us", "-1\n");
  Write("cpu/cpu.cfs_period_us", "100000\n");
  Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits = Read("1:cpu:/\n2:memory:/\nnot a line\n");
  EXPECT_FALSE(limits.processors.has_value());
  EXPECT_FALSE(limits.memory_bytes.has_value());
}

}  // namespace
}  // namespace quern::device::cpu
