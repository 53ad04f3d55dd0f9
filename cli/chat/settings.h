// What /set can change in a chat: one table of names, ranges, readers and writers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/generate.h"

#include "cli/status.h"

namespace quern::cli {

enum class ThinkingDisplay : uint8_t { kOff, kDim, kOn };

struct ChatSettings {
  SamplingParams sampling;
  int64_t max_tokens = -1;
  std::vector<std::string> stop;
  ThinkMode think = ThinkMode::kAuto;
  ThinkingDisplay show_thinking = ThinkingDisplay::kOff;
  ContextPolicy context_policy = ContextPolicy::kTrim;
  bool stats = true, wrap = true;
  std::string tools_json;
};

std::string_view NameOf(ThinkMode mode);
std::string_view NameOf(ThinkingDisplay display);
Result<ThinkingDisplay> ParseThinkingDisplay(std::string_view text);

// Sets one by name ('-' or '_'). A bad value changes nothing and the error names the range; an unknown name gets the
// nearest. `ctx` is not among them: it reloads the cache and belongs to the caller.
Status SetChatSetting(ChatSettings& settings, std::string_view name, std::string_view value);

struct ShownSetting {
  std::string name, value, origin;  // origin: "set", "model", "default"
};
std::vector<ShownSetting> ShowChatSettings(const ChatSettings& settings, const SamplingDefaults& model_defaults);

}  // namespace quern::cli
