#include <cmath>

#include "quern/generate.h"

#include "base/status.h"

namespace quern {
namespace {

enum class Lower : uint8_t { kIncluded, kExcluded };

Status CheckRange(std::string_view field, double value, double low, Lower bound, double high) {
  const bool above = bound == Lower::kIncluded ? value >= low : value > low;
  if (std::isfinite(value) && above && value <= high) return {};
  return Fail(Code::kInvalidArgument, "{} is {}; the range is {} {} to {}", field, value,
              bound == Lower::kIncluded ? "from" : "above", low, high);
}

}  // namespace

Status Validate(const SamplingParams& params) {
  if (params.temperature) QUERN_TRY(CheckRange("temperature", *params.temperature, 0, Lower::kIncluded, 2));
  if (params.top_k && *params.top_k < 0) {
    return Fail(Code::kInvalidArgument, "top_k is {}; the range is 0 (off) and above", *params.top_k);
  }
  if (params.top_p) QUERN_TRY(CheckRange("top_p", *params.top_p, 0, Lower::kExcluded, 1));
  if (params.min_p) QUERN_TRY(CheckRange("min_p", *params.min_p, 0, Lower::kIncluded, 1));
  QUERN_TRY(CheckRange("repeat_penalty", params.repeat_penalty, 0, Lower::kExcluded, 100));
  QUERN_TRY(CheckRange("presence_penalty", params.presence_penalty, -2, Lower::kIncluded, 2));
  QUERN_TRY(CheckRange("frequency_penalty", params.frequency_penalty, -2, Lower::kIncluded, 2));
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0) return Fail(Code::kInvalidArgument, "logit_bias names token {}; token ids begin at 0", id);
    QUERN_TRY(CheckRange(fmt::format("logit_bias of token {}", id), bias, -100, Lower::kIncluded, 100));
  }
  return {};
}

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kInterrupted:
      return "interrupted";
    case FinishReason::kToolCalls:
      return "tool_calls";
  }
  return "stop";
}

}  // namespace quern
