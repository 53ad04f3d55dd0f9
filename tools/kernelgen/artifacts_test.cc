// The checked-in kernels are what the generators make now, and every way of departing from that is noticed.
#include <cstdio>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"
#include "kernels/descriptor/catalogue.h"
#include "kernels/evidence/evidence.h"
#include "kernels/ir/gen/generate.h"
#include "kernels/lower/identity.h"
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

// Evidence that no longer fits its kernel only keeps the kernel from running; evidence that says no is a fault.
TEST(EvidenceRecords, NoneOfSm90SaysNo) {
  const auto text = ReadFile(fs::path(QUERN_SOURCE_DIR) / "src/kernels/evidence/records/sm_90.jsonl");
  ASSERT_TRUE(text.has_value());
  const auto records = kernels::EvidenceSet::Parse(*text, "sm_90.jsonl");
  ASSERT_TRUE(records.has_value()) << records.error().ToString();
  std::map<kernels::Verdict, int> counts;
  for (const kernels::CatalogueEntry& entry : kernels::Catalogue()) {
    const auto kernel = kernels::ir::gen::Generate(entry.descriptor, entry.schedule);
    ASSERT_TRUE(kernel.has_value());
    const kernels::lower::Source source{&*kernel, CanonicalText(entry.descriptor), CanonicalText(entry.schedule)};
    const kernels::ArtifactIdentity identity{kernel->id, Sha256Hex(Dump(*kernel)), kernels::lower::CudaSourceSha256(source), kernels::lower::DeviceTextSha256()};
    const kernels::Judgement judgement = records->Judge(identity, 90);
    ++counts[judgement.verdict];
    EXPECT_NE(judgement.verdict, kernels::Verdict::kFailed) << kernel->id << ": " << judgement.reason;
  }
  for (const auto& [verdict, count] : counts) std::printf("%s: %d\n", std::string(NameOf(verdict)).c_str(), count);
}

}  // namespace
}  // namespace quern::kernelgen
