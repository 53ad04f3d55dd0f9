// Decoding and encoding against golden blocks made by the gguf package (tools/golden/quant_blocks.py): an independent
// implementation, so that a layout misread the same way by our encoder and decoder is found.
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "tensor/codec.h"

namespace quern {
namespace {

std::vector<std::byte> FromHex(const std::string& hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::byte> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  return bytes;
}

std::vector<float> FloatsFromHex(const std::string& hex) {
  const std::vector<std::byte> bytes = FromHex(hex);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

const Json& Golden() {
  static const Json golden = [] {
    const Result<std::string> text = ReadFile(std::string(QUERN_SOURCE_DIR) + "/tests/golden/quant_blocks.json");
    QUERN_CHECK(text.has_value());
    return *ParseJson(*text, "quant_blocks.json");
  }();
  return golden;
}

DType TypeOf(const std::string& name) { return *DTypeFromName(name); }

// Bit for bit: the order of roundings is part of the contract.
TEST(CodecGolden, DecodesEveryQuantisedFormat) {
  int num_formats = 0;
  for (const auto& [name, entry] : Golden()["decode"].items()) {
    const DType type = TypeOf(name);
    const std::vector<std::byte> blocks = FromHex(entry["blocks"]);
    const std::vector<float> expected = FloatsFromHex(entry["values"]);
    ASSERT_EQ(expected.size() / InfoOf(type).block_elems, blocks.size() / InfoOf(type).block_bytes) << name;
    std::vector<float> decoded(expected.size());
    DecodeRow(type, blocks.data(), decoded);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(decoded[i]), std::bit_cast<uint32_t>(expected[i]))
          << name << " value " << i << ": " << decoded[i] << " for " << expected[i];
    }
    ++num_formats;
  }
  EXPECT_EQ(num_formats, 13) << "every quantised format of dtype.h";
}

TEST(CodecGolden, EncodesAsTheReferenceDoes) {
  const std::vector<float> values = FloatsFromHex(Golden()["encode"]["values"]);
  int num_formats = 0;
  for (const auto& [name, entry] : Golden()["encode"].items()) {
    if (name == "values") continue;
    const DType type = TypeOf(name);
    const std::vector<std::byte> expected = FromHex(entry);
    std::vector<std::byte> blocks(expected.size());
    const Status status = EncodeRow(type, values, {}, blocks.data());
    ASSERT_TRUE(status) << status.error().message;
    const size_t block_bytes = static_cast<size_t>(InfoOf(type).block_bytes);
    for (size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_EQ(blocks[i], expected[i]) << name << " block " << i / block_bytes << " byte " << i % block_bytes;
    }
    ++num_formats;
  }
  EXPECT_EQ(num_formats, 8);
}

}  // namespace
}  // namespace quern
