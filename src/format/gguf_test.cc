// Proves: the GGUF reader reads what the format allows, refuses everything else with the right code and a message that
// names the field, and reserves no memory for what a file only claims to hold.
#include "format/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/sample_files.h"

namespace quern::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;
constexpr uint32_t kQ4_K = 12;

// One tensor behind a header without keys, its data of `data_bytes` zeros.
std::string OneTensor(std::initializer_list<uint64_t> dims, uint32_t ggml_type, uint64_t offset, size_t data_bytes) {
  return GgufBytes().Header(3, 1, 0).Tensor("w", dims, ggml_type, offset).PadTo(32).Zeros(data_bytes).text();
}

Result<GgufFile> Parse(std::string_view text) { return GgufFile::Parse(std::as_bytes(std::span(text))); }

void ExpectFailure(std::string_view text, Code code, std::string_view message) {
  const Result<GgufFile> file = Parse(text);
  ASSERT_FALSE(file.has_value()) << "expected: " << message;
  EXPECT_EQ(file.error().code, code) << file.error().ToString();
  EXPECT_THAT(file.error().ToString(), HasSubstr(std::string(message)));
}

TEST(GgufTest, ReadsEveryTypeOfMetadata) {
  const std::string text = SmallGguf();
  const Result<GgufFile> file = Parse(text);
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->alignment(), 16u);
  EXPECT_EQ(file->metadata().size(), 16u);
  EXPECT_EQ(file->GetInt("u8")->value(), 8);
  EXPECT_EQ(file->GetInt("i8")->value(), -1);
  EXPECT_EQ(file->GetInt("u16")->value(), 513);
  EXPECT_EQ(file->GetInt("i16")->value(), -32768);
  EXPECT_EQ(file->GetInt("u32")->value(), 32);
  EXPECT_EQ(file->GetInt("i32")->value(), -1);
  EXPECT_EQ(file->GetInt("u64")->value(), 64);
  EXPECT_EQ(file->GetInt("i64")->value(), -1);
  EXPECT_EQ(file->GetFloat("f32")->value(), 0.5);
  EXPECT_EQ(file->GetFloat("f64")->value(), 1.5);
  EXPECT_EQ(file->GetBool("bool")->value(), true);
  EXPECT_EQ(file->GetString("string")->value(), "text");
  EXPECT_THAT(file->GetInts("a.i32")->value(), ElementsAre(7, 8));
  EXPECT_THAT(file->GetBools("a.bool")->value(), ElementsAre(true, false, true));
  EXPECT_THAT(file->GetStrings("a.string")->value(), ElementsAre("one", ""));
}

TEST(GgufTest, TurnsShapesRoundAndPointsIntoTheBytes) {
  const std::string text = SmallGguf();
  const Result<GgufFile> file = Parse(text);
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  ASSERT_EQ(file->tensors().tensors.size(), 3u);
  const TensorView* matrix = file->tensors().Find("matrix");
  EXPECT_EQ(matrix->shape, (Shape{2, 3}));
  EXPECT_EQ(matrix->dtype, DType::kF32);
  const TensorView* blocks = file->tensors().Find("blocks");
  EXPECT_EQ(blocks->shape, (Shape{2, 32}));
  EXPECT_EQ(blocks->num_bytes(), 68);
  EXPECT_EQ(blocks->data - matrix->data, 32);
  // The last tensor ends the file.
  const TensorView* token = file->tensors().Find("token");
  EXPECT_EQ(reinterpret_cast<const char*>(token->data) + token->num_bytes(), text.data() + text.size());
}

TEST(GgufTest, LookUpsTellMissingFromWrong) {
  const std::string text = SmallGguf();
  const Result<GgufFile> file = Parse(text);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(*file->GetInt("absent"), std::nullopt);
  EXPECT_EQ(*file->GetStrings("absent"), std::nullopt);
  const Result<std::optional<int64_t>> wrong = file->GetInt("a.string");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kCorrupt);
  EXPECT_EQ(wrong.error().message, "metadata key \"a.string\" is an array of string; an integer was expected");
  EXPECT_FALSE(file->GetString("u8").has_value());
  EXPECT_FALSE(file->GetFloat("u8").has_value());
  EXPECT_FALSE(file->GetBool("u8").has_value());
  EXPECT_FALSE(file->GetFloats("f32").has_value());
  EXPECT_FALSE(file->GetStrings("string").has_value());
}

TEST(GgufTest, ScalarsRepeatOnlyWhenAsked) {
  const std::string text = SmallGguf();
  const Result<GgufFile> file = Parse(text);
  ASSERT_TRUE(file.has_value());
  EXPECT_THAT(file->GetInts("u32", 3)->value(), ElementsAre(32, 32, 32));
  EXPECT_THAT(file->GetInts("a.i32", 3)->value(), ElementsAre(7, 8));
  EXPECT_FALSE(file->GetInts("u32").has_value());
  EXPECT_THAT(file->GetBools("bool", 2)->value(), ElementsAre(true, true));
  EXPECT_FALSE(file->GetBools("bool").has_value());
}

TEST(GgufTest, AnUnsignedValueOver63BitsIsNoInteger) {
  const std::string text = GgufBytes().Header(3, 0, 1).Key("k", GgufType::kUint64).U64(uint64_t{1} << 63).text();
  const Result<GgufFile> file = Parse(text);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->GetInt("k").error().code, Code::kCorrupt);
}

TEST(GgufTest, AcceptsVersion2AndNoTensors) {
  const Result<GgufFile> file = Parse(GgufBytes().Header(2, 0, 0).text());
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->version(), 2u);
  EXPECT_EQ(file->alignment(), 32u);
}

TEST(GgufTest, RefusesOtherVersionsByName) {
  ExpectFailure(GgufBytes().Header(1, 0, 0).text(), Code::kUnsupported, "GGUF version 1 is not supported");
  ExpectFailure(GgufBytes().Header(4, 0, 0).text(), Code::kUnsupported, "GGUF version 4 is newer than this build");
  ExpectFailure(GgufBytes().Header(0x03000000, 0, 0).text(), Code::kUnsupported, "big-endian");
  ExpectFailure(GgufBytes().Header(0, 0, 0).text(), Code::kCorrupt, "GGUF version 0 does not exist");
}

TEST(GgufTest, NamesWhatTheFileReallyIs) {
  ExpectFailure("<!DOCTYPE html><html>", Code::kCorrupt, "it looks like an HTML page");
  ExpectFailure("version https://git-lfs.github.com/spec/v1", Code::kCorrupt, "it is a Git LFS pointer");
  ExpectFailure("abcdefgh", Code::kCorrupt, "not a GGUF file");
  ExpectFailure("GG", Code::kCorrupt, "the file ends inside the magic");
}

TEST(GgufTest, CountsThatTheFileCannotHoldAllocateNothing) {
  // Each would be terabytes if it were believed; under the sanitizer's allocation limit it would abort.
  ExpectFailure(GgufBytes().Header(3, uint64_t{1} << 40, 0).Zeros(64).text(), Code::kCorrupt,
                "1099511627776 tensors do not fit");
  ExpectFailure(GgufBytes().Header(3, 0, ~uint64_t{0}).Zeros(64).text(), Code::kCorrupt, "metadata keys do not fit");
  for (const uint32_t type : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 10u, 11u, 12u}) {
    for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 25, uint64_t{1} << 61, ~uint64_t{0}}) {
      const std::string text =
          GgufBytes().Header(3, 0, 1).Key("k", GgufType::kArray).U32(type).U64(count).Zeros(32).text();
      ExpectFailure(text, Code::kCorrupt, "array of ");
    }
  }
}

TEST(GgufTest, StringLengthsAreBounded) {
  ExpectFailure(GgufBytes().Header(3, 0, 1).U64(~uint64_t{0}).Zeros(32).text(), Code::kCorrupt,
                "inside a metadata key");
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType::kString).U64(1000).Zeros(32).text(), Code::kCorrupt,
                "inside a string");
  ExpectFailure(GgufBytes().Header(3, 0, 1).String(std::string(65536, 'k')).U32(7).U8(1).text(), Code::kCorrupt,
                "has 65536 bytes; 1 to 65535 are allowed");
  ExpectFailure(GgufBytes().Header(3, 0, 1).String("").U32(7).U8(1).Zeros(8).text(), Code::kCorrupt, "has 0 bytes");
}

TEST(GgufTest, NamesArePrintable) {
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("a\x1b[31m", GgufType::kBool).U8(1).text(), Code::kCorrupt,
                "\"a\\x1B[31m\"");
}

TEST(GgufTest, RefusesBadValues) {
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType::kBool).U8(2).text(), Code::kCorrupt,
                "a bool is stored as 2");
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType::kArray).U32(7).U64(2).U8(1).U8(9).text(), Code::kCorrupt,
                "element 1 of an array of bools is 9");
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType{13}).U64(0).text(), Code::kCorrupt,
                "13 is not a value type");
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType::kArray).U32(99).U64(0).text(), Code::kCorrupt,
                "99 is not a value type");
  ExpectFailure(GgufBytes().Header(3, 0, 1).Key("k", GgufType::kArray).U32(9).U64(1).U32(0).U64(0).text(),
                Code::kUnsupported, "nested arrays are not supported");
  ExpectFailure(GgufBytes().Header(3, 0, 2).Key("k", GgufType::kBool).U8(1).Key("k", GgufType::kBool).U8(1).text(),
                Code::kCorrupt, "\"k\" occurs twice");
}

TEST(GgufTest, RefusesBadAlignments) {
  for (const uint32_t alignment : {0u, 4u, 24u, 33u}) {
    ExpectFailure(GgufBytes().Header(3, 0, 1).Key("general.alignment", GgufType::kUint32).U32(alignment).text(),
                  Code::kCorrupt, "must be a power of two and at least 8");
  }
  // A huge one cannot push the data section beyond the end of the address space.
  ExpectFailure(GgufBytes()
                    .Header(3, 1, 1)
                    .Key("general.alignment", GgufType::kUint64)
                    .U64(uint64_t{1} << 62)
                    .Tensor("w", {1}, kF32, 0)
                    .Zeros(64)
                    .text(),
                Code::kCorrupt, "the padding before the tensor data");
}

TEST(GgufTest, RefusesBadShapes) {
  ExpectFailure(OneTensor({}, kF32, 0, 64), Code::kCorrupt, "it has 0 dimensions");
  ExpectFailure(OneTensor({1, 1, 1, 1, 1}, kF32, 0, 64), Code::kCorrupt, "it has 5 dimensions");
  ExpectFailure(OneTensor({4, 0}, kF32, 0, 64), Code::kCorrupt, "dimension 1 is 0");
  ExpectFailure(OneTensor({uint64_t{1} << 63}, kF32, 0, 64), Code::kCorrupt, "dimension 0 is 9223372036854775808");
  ExpectFailure(OneTensor({uint64_t{1} << 32, uint64_t{1} << 32}, kF32, 0, 64), Code::kCorrupt, "dimension 1 is");
  // 2^62 floats are countable but not addressable.
  ExpectFailure(OneTensor({uint64_t{1} << 62}, kF32, 0, 64), Code::kCorrupt, "more than 2^64 bytes");
  ExpectFailure(OneTensor({48}, kQ4_0, 0, 64), Code::kCorrupt, "not a multiple of the 32 elements of a Q4_0 block");
  ExpectFailure(OneTensor({32, 8}, kQ4_K, 0, 512), Code::kCorrupt,
                "not a multiple of the 256 elements of a Q4_K block");
}

TEST(GgufTest, RefusesForeignAndUnknownTensorTypes) {
  ExpectFailure(OneTensor({256}, 19, 0, 64), Code::kUnsupported, "tensor \"w\": tensor type IQ1_S is not supported");
  ExpectFailure(OneTensor({256}, 12345, 0, 64), Code::kCorrupt, "12345 is not a tensor type");
}

TEST(GgufTest, RefusesBadPlacement) {
  ExpectFailure(OneTensor({8}, kF32, 4, 64), Code::kCorrupt, "offset 4 is not a multiple of the alignment 32");
  ExpectFailure(OneTensor({8}, kF32, 64, 64), Code::kCorrupt, "32 bytes at offset 64 reach beyond the 64 bytes");
  ExpectFailure(OneTensor({8}, kF32, 0, 31), Code::kCorrupt, "reach beyond the 31 bytes");
  ExpectFailure(OneTensor({8}, kF32, ~uint64_t{31}, 64), Code::kCorrupt, "reach beyond");
  ExpectFailure(GgufBytes().Header(3, 1, 0).Tensor("w", {1}, kF32, 0).text(), Code::kCorrupt,
                "the padding before the tensor data");
  const auto two = [](std::string_view second, uint64_t offset) {
    return GgufBytes()
        .Header(3, 2, 0)
        .Tensor("a", {16}, kF32, 0)
        .Tensor(second, {8}, kF32, offset)
        .PadTo(32)
        .Zeros(96)
        .text();
  };
  EXPECT_TRUE(Parse(two("b", 64)).has_value());
  ExpectFailure(two("b", 32), Code::kCorrupt, "offset 32 lies inside the tensor before it, which ends at 64");
  ExpectFailure(two("a", 64), Code::kCorrupt, "tensor \"a\" occurs twice");
}

TEST(GgufTest, TensorsMayBeLargerThan2GiB) {
  // A sparse file: 3 GiB of zeros that take no disk.
  const TemporaryFolder folder;
  const std::string head = GgufBytes()
                               .Header(3, 2, 0)
                               .Tensor("big", {1024, 786432}, kF32, 0)
                               .Tensor("next", {1}, kF32, uint64_t{3} << 30)
                               .PadTo(32)
                               .text();
  const std::filesystem::path path = folder.Write("big.gguf", head);
  std::filesystem::resize_file(path, head.size() + (uint64_t{3} << 30) + 4);
  const Result<GgufFile> file = GgufFile::Open(path);
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->tensors().Find("big")->num_bytes(), int64_t{3} << 30);
  EXPECT_EQ(file->tensors().Find("next")->data - file->tensors().Find("big")->data, int64_t{3} << 30);
}

TEST(GgufTest, FilesAreNamedInErrors) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.Write("bad.gguf", "nothing");
  EXPECT_THAT(GgufFile::Open(path).error().ToString(), HasSubstr("bad.gguf: not a GGUF file"));
  EXPECT_EQ(GgufFile::Open(folder.path() / "absent.gguf").error().code, Code::kNotFound);
}

// Splitting.

struct Part {
  uint32_t no, count, num_tensors;
  std::string tensor;
};

std::string PartBytes(const Part& part) {
  GgufBytes file;
  file.Header(3, 1, part.no == 0 ? 4 : 3);
  if (part.no == 0) file.Key("general.name", GgufType::kString).String("model");
  file.Key("split.no", GgufType::kUint32).U32(part.no).Key("split.count", GgufType::kUint32).U32(part.count);
  file.Key("split.tensors.count", GgufType::kInt32).U32(part.num_tensors);
  return file.Tensor(part.tensor, {8}, kF32, 0).PadTo(32).Zeros(32).text();
}

class GgufSplitTest : public ::testing::Test {
 protected:
  void Write(int file_no, const Part& part) {
    folder_.Write(fmt::format("m-{:05}-of-00003.gguf", file_no), PartBytes(part));
  }
  void WriteAll() {
    Write(1, {0, 3, 3, "a"});
    Write(2, {1, 3, 3, "b"});
    Write(3, {2, 3, 3, "c"});
  }
  Result<GgufFile> Open(int file_no) {
    return GgufFile::Open(folder_.path() / fmt::format("m-{:05}-of-00003.gguf", file_no));
  }

  TemporaryFolder folder_;
};

TEST_F(GgufSplitTest, AnyPartOpensTheWhole) {
  WriteAll();
  for (const int file_no : {1, 2, 3}) {
    const Result<GgufFile> file = Open(file_no);
    ASSERT_TRUE(file.has_value()) << file.error().ToString();
    EXPECT_EQ(file->tensors().tensors.size(), 3u);
    EXPECT_EQ(file->tensors().files.size(), 3u);
    EXPECT_EQ(file->GetString("general.name")->value(), "model");
    EXPECT_FALSE(file->metadata().contains("split.count"));
  }
}

TEST_F(GgufSplitTest, AMissingPartIsNamed) {
  WriteAll();
  std::filesystem::remove(folder_.path() / "m-00002-of-00003.gguf");
  const Result<GgufFile> file = Open(3);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, Code::kNotFound);
  EXPECT_THAT(file.error().message, HasSubstr("m-00002-of-00003.gguf is missing"));
}

TEST_F(GgufSplitTest, PartsMustAgree) {
  WriteAll();
  Write(2, {2, 3, 3, "b"});
  EXPECT_EQ(Open(1).error().code, Code::kCorrupt);
  WriteAll();
  Write(2, {1, 3, 4, "b"});
  EXPECT_EQ(Open(1).error().code, Code::kCorrupt);
  WriteAll();
  Write(3, {2, 3, 3, "a"});
  EXPECT_THAT(Open(1).error().ToString(), HasSubstr("tensor \"a\" occurs in two parts"));
}

TEST_F(GgufSplitTest, TheTotalMustBeRight) {
  Write(1, {0, 3, 4, "a"});
  Write(2, {1, 3, 4, "b"});
  Write(3, {2, 3, 4, "c"});
  EXPECT_THAT(Open(1).error().message, HasSubstr("hold 3 tensors; split.tensors.count says 4"));
}

TEST_F(GgufSplitTest, ARenamedOrImpossiblePartIsRefused) {
  EXPECT_THAT(GgufFile::Open(folder_.Write("renamed.gguf", PartBytes({0, 3, 3, "a"}))).error().message,
              HasSubstr("does not end in -00001-of-00003.gguf"));
  EXPECT_EQ(GgufFile::Open(folder_.Write("x.gguf", PartBytes({5, 3, 3, "a"}))).error().code, Code::kCorrupt);
  const std::string part = PartBytes({0, 3, 3, "a"});
  ExpectFailure(part, Code::kUnsupported, "part 1 of 3 of a split file cannot be read from memory");
}

}  // namespace
}  // namespace quern::format
