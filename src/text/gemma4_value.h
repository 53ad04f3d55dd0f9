// Reads what a Gemma 4 model writes inside a tool call: call:NAME{key:value,...}. The input is a model's output and may
// be anything; nesting is limited, and every string that comes out is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "text/chat_format.h"

namespace quern::text {

// The bytes of a call with the places where a quote token stood. Quotes are tokens, not characters: a string may
// contain the characters of the marker.
struct ToolCallSource {
  std::string bytes;
  std::vector<size_t> quotes;  // ascending offsets into bytes; two at one offset enclose an empty string

  void Clear() {
    bytes.clear();
    quotes.clear();
  }
  // As text with the markers spelled out, in UTF-8.
  std::string Spelled() const;
};

// Lenient where no meaning is lost: white space, a trailing comma, JSON strings in plain quotes, bare words as strings.
// Corrupt otherwise. Limit: 64 levels. The id is left empty.
Result<ToolCall> ParseToolCall(const ToolCallSource& source);

}  // namespace quern::text
