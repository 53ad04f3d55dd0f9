#include "format/importance_matrix.h"

#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "format/gguf_writer.h"
#include "format/sample_files.h"

namespace quern::format {
namespace {

using ::testing::ElementsAre;

template <typename T>
void Put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutEntry(std::string_view name, int32_t num_calls, const std::vector<float>& values, std::string* out) {
  Put(static_cast<int32_t>(name.size()), out);
  *out += name;
  Put(num_calls, out);
  Put(static_cast<int32_t>(values.size()), out);
  for (const float value : values) Put(value, out);
}

std::filesystem::path WriteGguf(const TemporaryFolder& folder, const std::vector<float>& sums,
                                const std::vector<float>& counts) {
  const auto path = folder.path() / "imatrix.gguf";
  GgufWriter writer;
  writer.SetString("general.type", "imatrix");
  const auto num_sets = static_cast<int64_t>(counts.size());
  EXPECT_TRUE(writer.AddTensor("blk.0.attn_q.weight.in_sum2", DType::kF32,
                               {num_sets, static_cast<int64_t>(sums.size()) / num_sets}));
  EXPECT_TRUE(writer.AddTensor("blk.0.attn_q.weight.counts", DType::kF32, {num_sets, 1}));
  EXPECT_TRUE(writer.Begin(path, AtomicFile::IfExists::kFail));
  EXPECT_TRUE(writer.AppendTensorData(std::as_bytes(std::span(sums))));
  EXPECT_TRUE(writer.AppendTensorData(std::as_bytes(std::span(counts))));
  EXPECT_TRUE(writer.Finish());
  return path;
}

// Sums become means, per expert by its own count; an expert that never ran weighs its inputs alike.
TEST(ImportanceMatrix, ReadsGguf) {
  const TemporaryFolder folder;
  const auto matrix = ImportanceMatrix::Open(WriteGguf(folder, {2, 4, 9, 9, 3, 6}, {2, 0, 3}));
  ASSERT_TRUE(matrix) << matrix.error().ToString();
  EXPECT_THAT(matrix->Find("blk.0.attn_q.weight"), ElementsAre(1, 2, 1, 1, 1, 2));
  EXPECT_TRUE(matrix->Find("blk.1.attn_q.weight").empty());
}

TEST(ImportanceMatrix, ReadsTheOlderForm) {
  const TemporaryFolder folder;
  std::string bytes;
  Put(int32_t{2}, &bytes);
  PutEntry("blk.0.attn_q.weight", 4, {4, 8}, &bytes);
  PutEntry("blk.0.attn_k.weight", 1, {3}, &bytes);
  Put(int32_t{7}, &bytes);  // chunks: an optional tail that says nothing about weights
  const auto matrix = ImportanceMatrix::Open(folder.Write("imatrix.dat", bytes));
  ASSERT_TRUE(matrix) << matrix.error().ToString();
  EXPECT_THAT(matrix->Find("blk.0.attn_q.weight"), ElementsAre(1, 2));
  EXPECT_THAT(matrix->Find("blk.0.attn_k.weight"), ElementsAre(3));
}

TEST(ImportanceMatrix, RefusesBadValues) {
  const TemporaryFolder folder;
  EXPECT_EQ(ImportanceMatrix::Open(WriteGguf(folder, {1, -2}, {1})).error().code, Code::kCorrupt);
  std::string bytes;
  Put(int32_t{1}, &bytes);
  PutEntry("x", 1, {std::numeric_limits<float>::quiet_NaN()}, &bytes);
  EXPECT_EQ(ImportanceMatrix::Open(folder.Write("nan.dat", bytes)).error().code, Code::kCorrupt);
}

// A model is not an importance matrix.
TEST(ImportanceMatrix, RefusesOtherGgufFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(ImportanceMatrix::Open(folder.Write("model.gguf", SmallGguf())).error().code, Code::kCorrupt);
}

// Every prefix of a valid file ends in an error, and a length field of any size asks for no memory.
TEST(ImportanceMatrix, SurvivesTruncationAndHugeCounts) {
  const TemporaryFolder folder;
  std::string bytes;
  Put(int32_t{1}, &bytes);
  PutEntry("name", 1, {1, 2, 3}, &bytes);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ImportanceMatrix::Open(folder.Write("cut.dat", bytes.substr(0, size)))) << size;
  }
  const size_t count_at = 4 + 4 + 4 + 4;
  const int32_t huge = std::numeric_limits<int32_t>::max();
  std::memcpy(bytes.data() + count_at, &huge, sizeof(huge));
  EXPECT_EQ(ImportanceMatrix::Open(folder.Write("huge.dat", bytes)).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace quern::format
