// Showing bytes of a hostile file in a message: short, on one line, without control characters.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quern::format {

// "name" in quotes; bytes outside printable ASCII become \xNN, and text over 96 bytes is cut with its length named.
std::string Quoted(std::string_view text);

// What a file that has the wrong magic seems to be: "; it looks like an HTML page, ..." or "".
std::string LooksLike(std::span<const std::byte> bytes);

}  // namespace quern::format
