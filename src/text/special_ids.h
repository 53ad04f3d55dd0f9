// The table of marker strings: which string fills which member of SpecialIds.
#pragma once

#include <span>
#include <string_view>

#include "text/tokenizer.h"

namespace quern::text {

struct SpecialName {
  std::string_view piece;
  std::optional<TokenId> SpecialIds::*member;
};

std::span<const SpecialName> SpecialNames();
// Also true of markers that no member names, such as <start_of_image>.
bool IsMarkerName(std::string_view piece);

}  // namespace quern::text
