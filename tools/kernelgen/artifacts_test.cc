// The checked-in kernels are what the generators make now, and every way of departing from that is noticed.
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tools/kernelgen/render.h"

namespace quern::kernelgen {
namespace {

namespace fs = std::filesystem;

const fs::path kArtifacts = fs::path(QUERN_SOURCE_DIR) / "src/kernels/artifacts";

class ArtifactsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "artifacts";
    fs::remove_all(folder_);
    fs::copy(kArtifacts, folder_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::vector<std::string> Problems() { return *CheckArtifacts(folder_); }

  fs::path folder_;
};

TEST_F(ArtifactsTest, AreFresh) { EXPECT_EQ(Problems(), std::vector<std::string>{}) << "run make generate and commit"; }

TEST_F(ArtifactsTest, AnEditIsNoticed) {
  const fs::path file = folder_ / "cuda/matmul_q4_0.cu";
  std::string text = *ReadFile(file);
  text.replace(text.find("15u"), 3, "14u");
  ASSERT_TRUE(WriteFileAtomically(file, text).has_value());
  EXPECT_EQ(Problems(), std::vector<std::string>{"cuda/matmul_q4_0.cu: stale or edited"});
}

TEST_F(ArtifactsTest, AStaleManifestIsNoticed) {
  std::string text = *ReadFile(folder_ / "manifest.json");
  const size_t digit = text.find("sha256\": \"") + 10;
  text[digit] = text[digit] == '0' ? '1' : '0';
  ASSERT_TRUE(WriteFileAtomically(folder_ / "manifest.json", text).has_value());
  EXPECT_EQ(Problems(), std::vector<std::string>{"manifest.json: stale or edited"});
}

TEST_F(ArtifactsTest, MissingAndOrphanedFilesAreNoticed) {
  fs::rename(folder_ / "cuda/matmul_q8_0.cu", folder_ / "cuda/matmul_q9_0.cu");
  EXPECT_EQ(Problems(), (std::vector<std::string>{"cuda/matmul_q8_0.cu: missing",
                                                  "cuda/matmul_q9_0.cu: belongs to no kernel of the catalogue"}));
}

}  // namespace
}  // namespace quern::kernelgen
