#include "format/safetensors_stream_writer.h"

#include <gtest/gtest.h>

#include "format/safetensors.h"
#include "format/sample_files.h"

namespace quern::format {
namespace {

TEST(SafetensorsStreamWriter, WritesWhatTheReaderReads) {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<uint16_t> halves = {7, 8};
  SafetensorsStreamWriter writer;
  ASSERT_TRUE(writer.AddTensor("b", DType::kF32, {2, 3}));
  ASSERT_TRUE(writer.AddTensor("a", DType::kBF16, {2}));
  const auto path = folder.path() / "x.safetensors";
  ASSERT_TRUE(writer.Begin(path, {{"format", "pt"}}, AtomicFile::IfExists::kFail));
  const auto bytes = std::as_bytes(std::span(floats));
  ASSERT_TRUE(writer.AppendTensorData(bytes.first(10)));
  ASSERT_TRUE(writer.AppendTensorData(bytes.subspan(10)));
  ASSERT_TRUE(writer.AppendTensorData(std::as_bytes(std::span(halves))));
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing is there before Finish";
  ASSERT_TRUE(writer.Finish());

  const auto file = OpenSafetensors(path);
  ASSERT_TRUE(file) << file.error().ToString();
  EXPECT_EQ(file->metadata.at("format"), "pt");
  const TensorView* b = file->tensors.Find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, (Shape{2, 3}));
  EXPECT_TRUE(std::ranges::equal(std::span(b->data, 24), bytes));
  EXPECT_EQ(file->tensors.Find("a")->dtype, DType::kBF16);
}

TEST(SafetensorsStreamWriter, RefusesWhatTheFormatCannotHold) {
  SafetensorsStreamWriter writer;
  EXPECT_EQ(writer.AddTensor("q", DType::kQ4_0, {32}).error().code, Code::kUnsupported);
  ASSERT_TRUE(writer.AddTensor("a", DType::kBF16, {2}));
  EXPECT_EQ(writer.AddTensor("a", DType::kBF16, {2}).error().code, Code::kInvalidArgument) << "used twice";
  EXPECT_EQ(writer.AddTensor("f", DType::kF32, {2}).error().code, Code::kInvalidArgument) << "would not be aligned";
  EXPECT_EQ(writer.AddTensor("__metadata__", DType::kI8, {2}).error().code, Code::kInvalidArgument);
}

// Missing bytes are a fault of the program, and leave no file.
TEST(SafetensorsStreamWriter, PublishesOnlyWholeFiles) {
  const TemporaryFolder folder;
  SafetensorsStreamWriter writer;
  ASSERT_TRUE(writer.AddTensor("a", DType::kF32, {2}));
  const auto path = folder.path() / "x.safetensors";
  ASSERT_TRUE(writer.Begin(path, {}, AtomicFile::IfExists::kFail));
  EXPECT_EQ(writer.Finish().error().code, Code::kInternal);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace quern::format
