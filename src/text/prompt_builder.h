// PromptBuilder: collects the pieces of a prompt, joining neighbouring text so that markers alone cut it.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "text/chat_format.h"

namespace quern::text {

class PromptBuilder {
 public:
  PromptBuilder& Marker(std::string_view marker) {
    pieces_.push_back({std::string(marker), true});
    return *this;
  }
  PromptBuilder& Text(std::string_view text) {
    if (text.empty()) return *this;
    if (pieces_.empty() || pieces_.back().is_marker) pieces_.push_back({});
    pieces_.back().text += text;
    return *this;
  }
  std::vector<PromptPiece> Take() { return std::move(pieces_); }

 private:
  std::vector<PromptPiece> pieces_;
};

}  // namespace quern::text
