#include "cli/chat/statistics.h"

#include <vector>

#include <fmt/format.h>

#include "cli/messages_json.h"

namespace quern::cli {

std::string FormatTurnLine(const GenerateResult& result) {
  const GenerateStats& stats = result.stats;
  std::vector<std::string> parts;
  std::string tokens = fmt::format("{} tok", stats.generated_tokens);
  if (stats.thinking_tokens > 0) tokens += fmt::format(" ({} thinking)", stats.thinking_tokens);
  parts.push_back(std::move(tokens));
  if (const double rate = DecodeRate(stats); rate > 0) parts.push_back(fmt::format("{:.1f} tok/s", rate));
  if (stats.generated_tokens > 0) parts.push_back(fmt::format("ttft {:.2f} s", stats.first_token_seconds));
  std::string prompt = fmt::format("prompt {}", stats.prompt_tokens);
  if (stats.cached_tokens > 0) prompt += fmt::format(" ({} cached)", stats.cached_tokens);
  if (const double rate = PromptRate(stats); rate > 0) prompt += fmt::format(" @ {:.0f} tok/s", rate);
  parts.push_back(std::move(prompt));
  parts.push_back(fmt::format("ctx {}/{}", stats.context_used, stats.context));
  if (stats.num_fallbacks > 0) parts.push_back(fmt::format("fallback: {}", stats.num_fallbacks));
  parts.emplace_back(NameOf(result.finish));
  return fmt::format("[{}]", fmt::join(parts, " · "));
}

std::string FormatEmptyAnswer(const GenerateResult& result) {
  const bool only_thinking =
      result.message.content.empty() && result.message.tool_calls.empty() && result.stats.thinking_tokens > 0;
  if (!only_thinking) return "";
  return fmt::format("(no visible answer; {} thinking tokens; raise --max-tokens or /think off)",
                     result.stats.thinking_tokens);
}

void SessionTotals::Add(const GenerateStats& stats) {
  ++turns;
  prompt_tokens += stats.prompt_tokens;
  cached_tokens += stats.cached_tokens;
  generated_tokens += stats.generated_tokens;
  thinking_tokens += stats.thinking_tokens;
  prefill_seconds += stats.prefill_seconds;
  decode_seconds += stats.decode_seconds;
}

std::string SessionTotals::Text() const {
  return fmt::format(
      "turns {}\nprompt tokens {} ({} cached)\ngenerated tokens {} ({} thinking)\nprompt time {:.2f} s\n"
      "decode time {:.2f} s\n",
      turns, prompt_tokens, cached_tokens, generated_tokens, thinking_tokens, prefill_seconds, decode_seconds);
}

}  // namespace quern::cli
