// SHA-256 (OpenSSL EVP): identities of models, artifacts and adapters.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace quern {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::span<const std::byte> bytes);
inline std::string Sha256Hex(std::string_view text) { return Sha256Hex(std::as_bytes(std::span(text))); }
Result<std::string> Sha256HexOfFile(const std::filesystem::path& path);

}  // namespace quern
