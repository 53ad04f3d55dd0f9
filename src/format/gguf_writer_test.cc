// Proves: what GgufWriter writes, GgufFile reads back unchanged - every metadata type, every dtype, any alignment - and
// misuse is reported before a file appears.
#include "format/gguf_writer.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/sample_files.h"

namespace quern::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class GgufWriterTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "out.gguf";
};

TEST_F(GgufWriterTest, CopiesMetadataOfEveryType) {
  const std::string text = SmallGguf();
  const Result<GgufFile> source = GgufFile::Parse(std::as_bytes(std::span(text)));
  ASSERT_TRUE(source.has_value());
  GgufWriter writer;
  for (const auto& [key, value] : source->metadata()) writer.Set(key, value);
  ASSERT_TRUE(writer.Begin(path_, AtomicFile::IfExists::kFail).has_value());
  ASSERT_TRUE(writer.Finish().has_value());
  const Result<GgufFile> copy = GgufFile::Open(path_);
  ASSERT_TRUE(copy.has_value()) << copy.error().ToString();
  ASSERT_EQ(copy->metadata().size(), source->metadata().size());
  for (const auto& [key, value] : source->metadata()) {
    const GgufValue& copied = copy->metadata().at(key);
    EXPECT_EQ(copied.type, value.type) << key;
    EXPECT_EQ(copied.element_type, value.element_type) << key;
    EXPECT_EQ(copied.data, value.data) << key;
  }
}

TEST_F(GgufWriterTest, WritesTheBytesOfTheFormat) {
  // Against a file laid out by hand, so that reader and writer cannot share a mistake.
  GgufWriter writer;
  writer.SetUint32("n", 7);
  ASSERT_TRUE(writer.AddTensor("w", DType::kF32, Shape{2, 3}).has_value());
  ASSERT_TRUE(writer.Begin(path_, AtomicFile::IfExists::kFail).has_value());
  ASSERT_TRUE(writer.AppendTensorData(std::vector<std::byte>(24)).has_value());
  ASSERT_TRUE(writer.Finish().has_value());
  const std::string expected = GgufBytes()
                                   .Header(3, 1, 1)
                                   .Key("n", GgufType::kUint32)
                                   .U32(7)
                                   .Tensor("w", {3, 2}, 0, 0)
                                   .PadTo(32)
                                   .Zeros(24)
                                   .PadTo(32)
                                   .text();
  EXPECT_EQ(ReadAll(path_), expected);
}

TEST_F(GgufWriterTest, TypedSettersRoundTrip) {
  GgufWriter writer;
  writer.SetString("s", "old");
  writer.SetFloat32("f", 0.1f);
  writer.SetBool("b", true);
  writer.SetInt32s("i32", std::vector<int32_t>{-1, 2});
  writer.SetUint32s("u32", std::vector<uint32_t>{3, 0xFFFFFFFF});
  writer.SetFloat32s("f32", std::vector<float>{1.5f, -0.25f});
  writer.SetBools("bits", {true, false});
  writer.SetStrings("words", std::vector<std::string_view>{"a", "", "c"});
  writer.SetStrings("none", {});
  writer.SetString("s", "new");
  ASSERT_TRUE(writer.Begin(path_, AtomicFile::IfExists::kFail).has_value());
  ASSERT_TRUE(writer.Finish().has_value());
  const Result<GgufFile> file = GgufFile::Open(path_);
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->metadata().size(), 9u);
  EXPECT_EQ(file->GetString("s")->value(), "new");
  EXPECT_EQ(file->GetFloat("f")->value(), double{0.1f});
  EXPECT_EQ(file->GetBool("b")->value(), true);
  EXPECT_THAT(file->GetInts("i32")->value(), ElementsAre(-1, 2));
  EXPECT_THAT(file->GetInts("u32")->value(), ElementsAre(3, 0xFFFFFFFF));
  EXPECT_THAT(file->GetFloats("f32")->value(), ElementsAre(1.5, -0.25));
  EXPECT_THAT(file->GetBools("bits")->value(), ElementsAre(true, false));
  EXPECT_THAT(file->GetStrings("words")->value(), ElementsAre("a", "", "c"));
  EXPECT_TRUE(file->GetStrings("none")->value().empty());
}

TEST_F(GgufWriterTest, EveryDTypeRoundTripsInPieces) {
  for (const uint32_t alignment : {8u, 32u, 4096u}) {
    GgufWriter writer;
    writer.SetUint32("general.alignment", alignment);
    std::vector<std::vector<std::byte>> data;
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      const Shape shape{3, 2 * InfoOf(dtype).block_elems};
      ASSERT_TRUE(writer.AddTensor(NameOf(dtype), dtype, shape).has_value());
      data.emplace_back(6 * InfoOf(dtype).block_bytes, static_cast<std::byte>(i + 1));
    }
    ASSERT_TRUE(writer.Begin(path_, AtomicFile::IfExists::kReplace).has_value());
    for (const auto& bytes : data) {
      ASSERT_TRUE(writer.AppendTensorData(std::span(bytes).first(1)).has_value());
      ASSERT_TRUE(writer.AppendTensorData(std::span(bytes).subspan(1)).has_value());
    }
    ASSERT_TRUE(writer.Finish().has_value());
    const Result<GgufFile> file = GgufFile::Open(path_);
    ASSERT_TRUE(file.has_value()) << file.error().ToString();
    EXPECT_EQ(file->alignment(), alignment);
    for (int i = 0; i < kNumDTypes; ++i) {
      const TensorView* view = file->tensors().Find(NameOf(static_cast<DType>(i)));
      ASSERT_NE(view, nullptr);
      EXPECT_EQ(view->dtype, static_cast<DType>(i));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(view->data) % alignment, 0u);
      EXPECT_TRUE(std::ranges::equal(std::span(view->data, view->num_bytes()), data[i])) << NameOf(view->dtype);
    }
  }
}

TEST_F(GgufWriterTest, BadDeclarationsAreRefused) {
  GgufWriter writer;
  EXPECT_TRUE(writer.AddTensor("w", DType::kF32, Shape{2}).has_value());
  EXPECT_THAT(writer.AddTensor("w", DType::kF32, Shape{2}).error().message, HasSubstr("added before"));
  EXPECT_THAT(writer.AddTensor("r", DType::kF32, Shape{}).error().message, HasSubstr("no dimension"));
  EXPECT_THAT(writer.AddTensor("z", DType::kF32, Shape{2, 0}).error().message, HasSubstr("not positive"));
  EXPECT_THAT(writer.AddTensor("k", DType::kQ4_K, Shape{2, 128}).error().message, HasSubstr("not whole Q4_K blocks"));
  EXPECT_THAT(writer.AddTensor("", DType::kF32, Shape{2}).error().message, HasSubstr("printable ASCII"));
  EXPECT_EQ(writer.AddTensor("o", DType::kF64, Shape{int64_t{1} << 62}).error().code, Code::kInvalidArgument);
}

TEST_F(GgufWriterTest, BadKeysAreReportedByBegin) {
  const auto begin_after = [&](std::string_view key, const GgufValue& value) {
    GgufWriter writer;
    writer.Set(key, value);
    return writer.Begin(path_, AtomicFile::IfExists::kFail);
  };
  EXPECT_EQ(begin_after("", {GgufType::kBool, GgufType::kBool, true}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(begin_after("k", {GgufType::kUint8, GgufType::kUint8, uint64_t{300}}).error().message,
              HasSubstr("does not fit its type uint8"));
  EXPECT_FALSE(begin_after("k", {GgufType::kArray, GgufType::kUint8, uint64_t{3}}).has_value());
  EXPECT_FALSE(begin_after("k", {GgufType::kString, GgufType::kString, uint64_t{3}}).has_value());
  EXPECT_FALSE(begin_after("general.alignment", {GgufType::kUint32, GgufType::kUint32, uint64_t{24}}).has_value());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(GgufWriterTest, DataMustMatchTheDeclarations) {
  GgufWriter writer;
  ASSERT_TRUE(writer.AddTensor("w", DType::kF32, Shape{2}).has_value());
  ASSERT_TRUE(writer.Begin(path_, AtomicFile::IfExists::kFail).has_value());
  EXPECT_EQ(writer.AppendTensorData(std::vector<std::byte>(9)).error().code, Code::kInternal);
  ASSERT_TRUE(writer.AppendTensorData(std::vector<std::byte>(4)).has_value());
  EXPECT_THAT(writer.Finish().error().message, HasSubstr("has 4 of 8 bytes"));
  ASSERT_TRUE(writer.AppendTensorData(std::vector<std::byte>(4)).has_value());
  EXPECT_EQ(writer.AppendTensorData(std::vector<std::byte>(1)).error().code, Code::kInternal);
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(writer.Finish().has_value());
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace quern::format
