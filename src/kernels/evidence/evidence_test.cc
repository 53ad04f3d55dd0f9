// A record admits exactly the text that was run, on the architecture where it ran; every way of tampering is noticed.
#include "kernels/evidence/evidence.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace quern::kernels {
namespace {

using Json = nlohmann::json;

const ArtifactIdentity kArtifact{"matmul.q4_0.x.12345678", "aa", "bb", "cc"};

Json Good() {
  const Json one = {
      {"mismatches", 0}, {"repeats", 20}, {"repeats_equal", true}, {"guards_intact", true}, {"pass", true}};
  return {{"schema", 1},
          {"kernel_id", kArtifact.kernel_id},
          {"ir_sha256", "aa"},
          {"source_sha256", "bb"},
          {"device_text_sha256", "cc"},
          {"device", {{"compute_capability", 90}}},
          {"cases", {one, one, one}},
          {"pass", true}};
}

Judgement JudgeOf(const Json& record, const ArtifactIdentity& artifact = kArtifact, int capability = 90) {
  const auto set = EvidenceSet::Parse(record.dump() + "\n", "test.jsonl");
  EXPECT_TRUE(set.has_value());
  return set->Judge(artifact, capability);
}

TEST(Evidence, AGoodRecordQualifies) { EXPECT_EQ(JudgeOf(Good()).verdict, Verdict::kQualified); }

TEST(Evidence, NoRecordIsMissing) {
  ArtifactIdentity other = kArtifact;
  other.kernel_id = "matmul.q8_0.x.12345678";
  EXPECT_EQ(JudgeOf(Good(), other).verdict, Verdict::kMissing);
}

TEST(Evidence, AnotherTextIsStale) {
  for (std::string ArtifactIdentity::*field :
       {&ArtifactIdentity::ir_sha256, &ArtifactIdentity::source_sha256, &ArtifactIdentity::device_text_sha256}) {
    ArtifactIdentity changed = kArtifact;
    changed.*field = "dd";
    EXPECT_EQ(JudgeOf(Good(), changed).verdict, Verdict::kStale);
  }
  EXPECT_EQ(JudgeOf(Good(), kArtifact, 89).verdict, Verdict::kStale) << "another architecture";
}

TEST(Evidence, TheSummaryIsNotTrusted) {
  const auto with_case = [](auto change) {
    Json record = Good();
    change(record["cases"][1]);
    return JudgeOf(record);
  };
  EXPECT_EQ(with_case([](Json& c) { c["mismatches"] = 1; }).verdict, Verdict::kFailed);
  EXPECT_EQ(with_case([](Json& c) { c.erase("mismatches"); }).verdict, Verdict::kFailed);
  EXPECT_EQ(with_case([](Json& c) { c["mismatches"] = "0"; }).verdict, Verdict::kFailed);
  EXPECT_EQ(with_case([](Json& c) { c["repeats_equal"] = false; }).verdict, Verdict::kFailed);
  EXPECT_EQ(with_case([](Json& c) { c["guards_intact"] = 1; }).verdict, Verdict::kFailed);
  EXPECT_EQ(with_case([](Json& c) { c["repeats"] = 19; }).reason, "case 1 was repeated 19 times, not 20");
  EXPECT_EQ(with_case([](Json& c) { c = nullptr; }).verdict, Verdict::kFailed);
}

TEST(Evidence, RecordsThatAreNotCompleteFail) {
  for (const char* key : {"schema", "cases"}) {
    Json record = Good();
    record.erase(key);
    EXPECT_EQ(JudgeOf(record).verdict, Verdict::kFailed) << key;
  }
  Json record = Good();
  record["cases"].erase(2);
  EXPECT_EQ(JudgeOf(record).verdict, Verdict::kFailed) << "two cases";
  record = Good();
  record["schema"] = 2;
  EXPECT_EQ(JudgeOf(record).verdict, Verdict::kFailed);
}

TEST(Evidence, FilesThatAreNotRecordsAreRefused) {
  EXPECT_FALSE(EvidenceSet::Parse("{", "f").has_value());
  EXPECT_FALSE(EvidenceSet::Parse("[]\n", "f").has_value());
  EXPECT_FALSE(EvidenceSet::Parse("{\"kernel_id\": 3}\n", "f").has_value());
  const std::string twice = Good().dump() + "\n" + Good().dump() + "\n";
  const auto set = EvidenceSet::Parse(twice, "f");
  ASSERT_FALSE(set.has_value());
  EXPECT_NE(set.error().message.find("second record"), std::string::npos);
}

}  // namespace
}  // namespace quern::kernels
