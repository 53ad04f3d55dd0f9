// The statistics line after each turn and the totals of a session. Pure functions and values.
#pragma once

#include <string>

#include "quern/generate.h"

namespace quern::cli {

// "[214 tok · 52.3 tok/s · ttft 0.21 s · prompt 1043 (960 cached) @ 2310 tok/s · ctx 1257/8192 · stop]": rates are left
// out below two tokens, the fallback counter when it is 0.
std::string FormatTurnLine(const GenerateResult& result);

// "(no visible answer; ...)" when only thinking was produced; empty otherwise.
std::string FormatEmptyAnswer(const GenerateResult& result);

struct SessionTotals {
  int turns = 0;
  int64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0, thinking_tokens = 0;
  double prefill_seconds = 0, decode_seconds = 0;

  void Add(const GenerateStats& stats);
  std::string Text() const;
};

}  // namespace quern::cli
