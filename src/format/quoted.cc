#include "format/quoted.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace quern::format {

std::string Quoted(std::string_view text) {
  constexpr size_t kShownBytes = 96;
  std::string shown = "\"";
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E) {
      shown += fmt::format("\\x{:02X}", byte);
    } else {
      shown += c;
    }
  }
  shown += '"';
  if (text.size() > kShownBytes) shown += fmt::format("... ({} bytes)", text.size());
  return shown;
}

std::string LooksLike(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 64));
  if (text.starts_with("<!DOCTYPE") || text.starts_with("<!doctype") || text.starts_with("<html")) {
    return "; it looks like an HTML page: the download failed";
  }
  if (text.starts_with("version https://git-lfs")) return "; it is a Git LFS pointer: fetch the file it stands for";
  if (text.starts_with("GGUF")) return "; it is a GGUF file";
  if (text.starts_with("PK\x03\x04")) return "; it is a zip archive, perhaps a PyTorch checkpoint";
  return "";
}

}  // namespace quern::format
