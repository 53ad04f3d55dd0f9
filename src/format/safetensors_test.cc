// Proves: the safetensors reader accepts the demo checkpoints and what the writer writes, and refuses each breach of
// the format with the right code.
#include "format/safetensors.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/sample_files.h"

namespace quern::format {
namespace {

using ::testing::HasSubstr;

// A file with this header, padded to a multiple of 8, and `data_bytes` of data.
std::string File(std::string header, size_t data_bytes) {
  header.append((8 - header.size() % 8) % 8, ' ');
  return GgufBytes().U64(header.size()).text() + header + std::string(data_bytes, '\0');
}

// One tensor "w" of the given fields.
std::string One(std::string_view fields, size_t data_bytes) {
  return File(fmt::format(R"({{"w":{{{}}}}})", fields), data_bytes);
}

void ExpectFailure(const std::string& text, Code code, std::string_view message) {
  const Result<SafetensorsFile> file = ParseSafetensors(std::as_bytes(std::span(text)));
  ASSERT_FALSE(file.has_value()) << "expected: " << message;
  EXPECT_EQ(file.error().code, code) << file.error().ToString();
  EXPECT_THAT(file.error().ToString(), HasSubstr(std::string(message)));
}

TEST(SafetensorsTest, ReadsTypesShapesAndMetadata) {
  const std::string text = SmallSafetensors();
  const Result<SafetensorsFile> file = ParseSafetensors(std::as_bytes(std::span(text)));
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->metadata.at("format"), "pt");
  EXPECT_EQ(file->tensors.Find("a")->shape, (Shape{2, 3}));
  EXPECT_EQ(file->tensors.Find("b")->dtype, DType::kBF16);
  EXPECT_EQ(file->tensors.Find("c")->dtype, DType::kI8);  // BOOL
  EXPECT_EQ(file->tensors.Find("c")->shape.rank(), 0);
  EXPECT_EQ(reinterpret_cast<const char*>(file->tensors.Find("c")->data), text.data() + text.size() - 1);
}

TEST(SafetensorsTest, ReadsTheDemoCheckpoints) {
  const std::filesystem::path models = std::filesystem::path(QUERN_SOURCE_DIR) / "models";
  const Result<SafetensorsFile> nano = OpenSafetensors(models / "gemma4-nano");
  ASSERT_TRUE(nano.has_value()) << nano.error().ToString();
  EXPECT_EQ(nano->tensors.tensors.size(), 129u);
  EXPECT_EQ(nano->tensors.files.size(), 1u);
  const TensorView* embedding = nano->tensors.Find("model.embed_tokens.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (Shape{4096, 256}));
  EXPECT_EQ(embedding->dtype, DType::kBF16);
  EXPECT_TRUE(OpenSafetensors(models / "gemma4-nano-moe" / "model.safetensors").has_value());
  EXPECT_TRUE(OpenSafetensors(models / "gemma4-nano-assistant").has_value());
}

TEST(SafetensorsTest, RefusesBadHeaders) {
  ExpectFailure("short", Code::kCorrupt, "no room for the header length");
  ExpectFailure(GgufBytes().U64(100'000'001).Zeros(8).text(), Code::kCorrupt, "the header length 100000001");
  ExpectFailure(GgufBytes().U64(~uint64_t{0}).Zeros(8).text(), Code::kCorrupt, "the header length");
  ExpectFailure(GgufBytes().U64(0).Zeros(8).text(), Code::kCorrupt, "does not begin with '{'");
  ExpectFailure(File(" {}", 0), Code::kCorrupt, "does not begin with '{'");
  ExpectFailure(File("{", 0), Code::kCorrupt, "not valid JSON");
  ExpectFailure("<!DOCTYPE html>", Code::kCorrupt, "it looks like an HTML page");
  ExpectFailure(File(R"({"__metadata__":{"k":1}})", 0), Code::kCorrupt, "__metadata__ key \"k\" is not a string");
  ExpectFailure(File(R"({"w":{},"w":{}})", 0), Code::kCorrupt, "occurs twice");
}

TEST(SafetensorsTest, RefusesBadEntries) {
  ExpectFailure(One(R"("shape":[1],"data_offsets":[0,4])", 4), Code::kCorrupt, "dtype is missing");
  ExpectFailure(One(R"("dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4])", 4), Code::kUnsupported,
                "tensor \"w\": dtype \"F8_E4M3\"");
  ExpectFailure(One(R"("dtype":"F32","data_offsets":[0,4])", 4), Code::kCorrupt, "shape is missing");
  ExpectFailure(One(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4), Code::kCorrupt, "not a whole number");
  ExpectFailure(One(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])", 4), Code::kCorrupt, "not a whole number");
  ExpectFailure(One(R"("dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4])", 4), Code::kUnsupported,
                "5 dimensions");
  ExpectFailure(One(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])", 4), Code::kCorrupt,
                "2^63 bytes");
  ExpectFailure(One(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])", 4), Code::kCorrupt,
                "2^63 bytes");
  ExpectFailure(One(R"("dtype":"F32","shape":[1],"data_offsets":[0])", 4), Code::kCorrupt, "not a pair");
  ExpectFailure(One(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4), Code::kCorrupt, "do not span the 8 bytes");
  ExpectFailure(One(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4), Code::kCorrupt, "do not span");
  ExpectFailure(One(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1)", 4), Code::kUnsupported,
                "field \"x\" is not known");
}

TEST(SafetensorsTest, DataIsFilledWithoutGapOrOverlap) {
  const auto two = [](int begin, size_t data_bytes) {
    return File(
        fmt::format(
            R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}},"b":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}})",
            begin, begin + 4),
        data_bytes);
  };
  const std::string good = two(8, 12);
  EXPECT_TRUE(ParseSafetensors(std::as_bytes(std::span(good))).has_value());
  ExpectFailure(two(4, 12), Code::kCorrupt, "begins at 4; the tensor before it ends at 8");
  ExpectFailure(two(12, 16), Code::kCorrupt, "begins at 12; the tensor before it ends at 8");
  ExpectFailure(two(8, 11), Code::kCorrupt, "ends at 12, beyond the 11 bytes");
  ExpectFailure(two(8, 13), Code::kCorrupt, "1 bytes follow the last tensor");
  ExpectFailure(One(R"("dtype":"F32","shape":[4611686018427387903],"data_offsets":[0,18446744073709551612])", 4),
                Code::kCorrupt, "beyond the 4 bytes");
}

TEST(SafetensorsTest, EmptyTensorsAndEmptyFilesAreAllowed) {
  for (const std::string& text : {One(R"("dtype":"F32","shape":[0,4],"data_offsets":[0,0])", 0), File("{}", 0)}) {
    EXPECT_TRUE(ParseSafetensors(std::as_bytes(std::span(text))).has_value());
  }
}

TEST(SafetensorsTest, UnalignedDataIsRefusedWithTheRemedy) {
  // A header of odd length, as libraries wrote them before they padded it.
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )";
  ASSERT_EQ(header.size() % 4, 3u);
  const std::string text = GgufBytes().U64(header.size()).text() + header + std::string(4, '\0');
  ExpectFailure(text, Code::kUnsupported, "load and save the file once");
}

class ShardedTest : public ::testing::Test {
 protected:
  void Shard(std::string_view file, std::string_view tensor) {
    folder_.Write(file, File(fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", tensor), 4));
  }
  Result<SafetensorsFile> OpenWith(std::string_view weight_map) {
    folder_.Write("model.safetensors.index.json",
                  fmt::format(R"({{"metadata":{{}},"weight_map":{{{}}}}})", weight_map));
    return OpenSafetensors(folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(ShardedTest, JoinsShards) {
  Shard("1.safetensors", "a");
  Shard("2.safetensors", "b");
  const Result<SafetensorsFile> file = OpenWith(R"("a":"1.safetensors","b":"2.safetensors")");
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->tensors.tensors.size(), 2u);
  EXPECT_EQ(file->tensors.files.size(), 2u);
  EXPECT_TRUE(OpenSafetensors(folder_.path() / "model.safetensors.index.json").has_value());
}

TEST_F(ShardedTest, IndexAndShardsMustAgree) {
  Shard("1.safetensors", "a");
  EXPECT_THAT(OpenWith(R"("a":"1.safetensors","b":"1.safetensors")").error().message,
              HasSubstr("does not hold tensor \"b\""));
  EXPECT_THAT(OpenWith(R"("b":"1.safetensors")").error().message, HasSubstr("does not hold"));
  EXPECT_EQ(OpenWith(R"("a":"absent.safetensors")").error().code, Code::kNotFound);
  Shard("2.safetensors", "a");
  EXPECT_THAT(OpenWith(R"("a":"1.safetensors","b":"2.safetensors")").error().message,
              HasSubstr("2.safetensors does not hold"));
}

TEST_F(ShardedTest, ShardsStayInTheFolder) {
  for (const std::string_view name : {"../1.safetensors", "/etc/passwd", "", "..", "x/y"}) {
    EXPECT_EQ(OpenWith(fmt::format(R"("a":"{}")", name)).error().code, Code::kCorrupt) << name;
  }
  EXPECT_EQ(OpenWith(R"("a":"1\u0000")").error().code, Code::kCorrupt);
}

TEST_F(ShardedTest, AFolderWithoutWeightsSaysWhatIsMissing) {
  const Result<SafetensorsFile> file = OpenSafetensors(folder_.path());
  EXPECT_EQ(file.error().code, Code::kNotFound);
  EXPECT_THAT(file.error().message, HasSubstr("neither model.safetensors nor model.safetensors.index.json"));
}

TEST(SafetensorsWriterTest, EveryTypeRoundTripsAligned) {
  const TemporaryFolder folder;
  std::array<std::byte, 40> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i + 1);
  TensorTable table;
  // In name order the odd byte counts would leave the wide types unaligned.
  const std::pair<const char*, DType> types[] = {{"a", DType::kI8},  {"b", DType::kF64},  {"c", DType::kI16},
                                                 {"d", DType::kF32}, {"e", DType::kBF16}, {"f", DType::kI64},
                                                 {"g", DType::kF16}, {"h", DType::kI32}};
  for (const auto& [name, dtype] : types) table.tensors[name] = {bytes.data(), dtype, Shape{1, 5}};
  table.tensors["scalar"] = {bytes.data(), DType::kF32, Shape{}};
  table.tensors["\xC3\xA9 \"quoted\""] = {bytes.data(), DType::kI8, Shape{3}};
  const std::filesystem::path path = folder.path() / "out.safetensors";
  ASSERT_TRUE(WriteSafetensors(path, table, {{"format", "pt"}}, AtomicFile::IfExists::kFail).has_value());
  const Result<SafetensorsFile> file = OpenSafetensors(path);
  ASSERT_TRUE(file.has_value()) << file.error().ToString();
  EXPECT_EQ(file->metadata.at("format"), "pt");
  ASSERT_EQ(file->tensors.tensors.size(), table.tensors.size());
  for (const auto& [name, view] : table.tensors) {
    const TensorView* read = file->tensors.Find(name);
    ASSERT_NE(read, nullptr) << name;
    EXPECT_EQ(read->dtype, view.dtype);
    EXPECT_EQ(read->shape, view.shape);
    EXPECT_EQ(std::memcmp(read->data, view.data, static_cast<size_t>(view.num_bytes())), 0) << name;
  }
}

TEST(SafetensorsWriterTest, RefusesWhatTheFormatCannotHold) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "out.safetensors";
  const std::array<std::byte, 34> block{};
  const auto write = [&](std::string_view name, DType dtype, const Shape& shape) {
    TensorTable table;
    table.tensors[std::string(name)] = {block.data(), dtype, shape};
    return WriteSafetensors(path, table, {}, AtomicFile::IfExists::kFail);
  };
  EXPECT_EQ(write("w", DType::kQ8_0, Shape{32}).error().code, Code::kUnsupported);
  EXPECT_EQ(write("", DType::kF32, Shape{1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(write("__metadata__", DType::kF32, Shape{1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(write("\xFF", DType::kF32, Shape{1}).error().code, Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace quern::format
