#include "base/hash.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace quern {
namespace {

// The vectors of FIPS 180-2 and the digest of the empty string.
constexpr std::string_view kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kMillionA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(Sha256Hex(""), kEmpty);
  EXPECT_EQ(Sha256Hex("abc"), kAbc);
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')), kMillionA);
}

TEST(Sha256, FilesHashAsTheirBytes) {
  const auto path = std::filesystem::temp_directory_path() / ("quern_hash_test." + std::to_string(::getpid()));
  ASSERT_TRUE(WriteFileAtomically(path, std::string(1'000'000, 'a')));
  EXPECT_EQ(*Sha256HexOfFile(path), kMillionA);
  // An empty file has a digest although it cannot be mapped.
  ASSERT_TRUE(WriteFileAtomically(path, ""));
  EXPECT_EQ(*Sha256HexOfFile(path), kEmpty);
  std::filesystem::remove(path);
  const Result<std::string> missing = Sha256HexOfFile(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_FALSE(Sha256HexOfFile(std::filesystem::temp_directory_path()));
}

}  // namespace
}  // namespace quern
