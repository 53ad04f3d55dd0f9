#include "base/hash.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/file.h"

namespace quern {

std::string Sha256Hex(std::span<const std::byte> bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  QUERN_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr) == 1);
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

Result<std::string> Sha256HexOfFile(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 && !error) return Sha256Hex("");  // nothing to map
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  return Sha256Hex(file->bytes());
}

}  // namespace quern
