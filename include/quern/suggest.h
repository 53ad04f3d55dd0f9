// Nearest names: the "did you mean" of keys, flags, commands and aliases, so that every door suggests alike.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// Up to `limit` candidates within an edit distance (with transpositions) of a third of the name's length plus one,
// nearest first, ties in the given order. Case is ignored. Any thread.
std::vector<std::string> NearestNames(std::string_view name, std::span<const std::string> candidates, size_t limit = 1);

}  // namespace quern
