#include "cli/chat/settings.h"

#include <algorithm>

#include "quern/suggest.h"

#include "cli/numbers.h"
#include "cli/sampling_fields.h"

namespace quern::cli {
namespace {

Result<bool> ParseOnOff(std::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return Fail(Code::kInvalidArgument, "\"{}\" is not on or off", text);
}

struct Entry {
  std::string_view name;
  Status (*set)(ChatSettings& settings, std::string_view value);
  std::string (*show)(const ChatSettings& settings);
};

std::string OnOff(bool value) { return value ? "on" : "off"; }

constexpr Entry kEntries[] = {
    {"max-tokens",
     [](ChatSettings& s, std::string_view text) -> Status {
       QUERN_ASSIGN_OR_RETURN(const int64_t value, ParseInt(text));
       if (value < -1)
         return Fail(Code::kInvalidArgument, "max-tokens is {}; allowed is -1 (until the context ends) and above",
                     value);
       s.max_tokens = value;
       return {};
     },
     [](const ChatSettings& s) { return fmt::to_string(s.max_tokens); }},
    {"stop",
     [](ChatSettings& s, std::string_view text) -> Status {
       if (text == "-") {
         s.stop.clear();
       } else {
         s.stop.emplace_back(text);
       }
       return {};
     },
     [](const ChatSettings& s) { return fmt::format("{}", fmt::join(s.stop, " | ")); }},
    {"think",
     [](ChatSettings& s, std::string_view text) -> Status {
       if (text == "auto") {
         s.think = ThinkMode::kAuto;
         return {};
       }
       const Result<bool> on = ParseOnOff(text);
       if (!on) return Fail(Code::kInvalidArgument, "think is {}; allowed is auto, on or off", text);
       s.think = *on ? ThinkMode::kOn : ThinkMode::kOff;
       return {};
     },
     [](const ChatSettings& s) { return std::string(NameOf(s.think)); }},
    {"show-thinking",
     [](ChatSettings& s, std::string_view text) -> Status {
       QUERN_ASSIGN_OR_RETURN(s.show_thinking, ParseThinkingDisplay(text));
       return {};
     },
     [](const ChatSettings& s) { return std::string(NameOf(s.show_thinking)); }},
    {"stats",
     [](ChatSettings& s, std::string_view text) -> Status {
       QUERN_ASSIGN_OR_RETURN(s.stats, ParseOnOff(text));
       return {};
     },
     [](const ChatSettings& s) { return OnOff(s.stats); }},
    {"wrap",
     [](ChatSettings& s, std::string_view text) -> Status {
       QUERN_ASSIGN_OR_RETURN(s.wrap, ParseOnOff(text));
       return {};
     },
     [](const ChatSettings& s) { return OnOff(s.wrap); }},
    {"context-policy",
     [](ChatSettings& s, std::string_view text) -> Status {
       if (text != "trim" && text != "error") {
         return Fail(Code::kInvalidArgument, "context-policy is {}; allowed is trim or error", text);
       }
       s.context_policy = text == "trim" ? ContextPolicy::kTrim : ContextPolicy::kError;
       return {};
     },
     [](const ChatSettings& s) { return std::string(s.context_policy == ContextPolicy::kTrim ? "trim" : "error"); }},
    {"draft",
     [](ChatSettings&, std::string_view text) -> Status {
       if (text == "none") return {};
       return Fail(Code::kUnsupported, "draft is not in this build yet: speculative decoding");
     },
     [](const ChatSettings&) { return std::string("none"); }},
};

std::string FromModel(std::string_view field, const SamplingDefaults& defaults) {
  const auto text = [](const auto& value, std::string_view fallback) {
    return value ? fmt::format("{:g}", static_cast<double>(*value)) : std::string(fallback);
  };
  if (field == "temperature") return text(defaults.temperature, "1");
  if (field == "top-k") return text(defaults.top_k, "0");
  if (field == "top-p") return text(defaults.top_p, "1");
  if (field == "min-p") return text(defaults.min_p, "0");
  return field == "seed" ? "random" : "";
}

}  // namespace

std::string_view NameOf(ThinkMode mode) {
  return mode == ThinkMode::kAuto ? "auto" : mode == ThinkMode::kOn ? "on" : "off";
}

std::string_view NameOf(ThinkingDisplay display) {
  return display == ThinkingDisplay::kOff ? "off" : display == ThinkingDisplay::kDim ? "dim" : "on";
}

Result<ThinkingDisplay> ParseThinkingDisplay(std::string_view text) {
  for (const ThinkingDisplay display : {ThinkingDisplay::kOff, ThinkingDisplay::kDim, ThinkingDisplay::kOn}) {
    if (NameOf(display) == text) return display;
  }
  return Fail(Code::kInvalidArgument, "show-thinking is {}; allowed is on, off or dim", text);
}

Status SetChatSetting(ChatSettings& settings, std::string_view name, std::string_view value) {
  if (const SamplingField* field = FindSamplingField(name)) return SetSamplingField(settings.sampling, *field, value);
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  std::vector<std::string> names = {"ctx"};
  for (const Entry& entry : kEntries) {
    if (entry.name == dashed) return entry.set(settings, value);
    names.emplace_back(entry.name);
  }
  for (const SamplingField& field : SamplingFields()) names.emplace_back(field.name);
  auto failure = Fail(Code::kInvalidArgument, "unknown parameter {}", name);
  const std::vector<std::string> nearest = NearestNames(dashed, names);
  return WithHint(std::move(failure),
                  nearest.empty() ? "/set lists the parameters" : "did you mean " + nearest.front() + "?");
}

std::vector<ShownSetting> ShowChatSettings(const ChatSettings& settings, const SamplingDefaults& model_defaults) {
  std::vector<ShownSetting> shown;
  const SamplingParams unset;
  for (const SamplingField& field : SamplingFields()) {
    const std::string value = field.show(settings.sampling);
    if (value.empty()) {
      const std::string inherited = FromModel(field.name, model_defaults);
      shown.push_back(
          {std::string(field.name), inherited, inherited.empty() || field.name == "seed" ? "default" : "model"});
    } else {
      shown.push_back({std::string(field.name), value, value == field.show(unset) ? "default" : "set"});
    }
  }
  const ChatSettings defaults;
  for (const Entry& entry : kEntries) {
    const std::string value = entry.show(settings);
    shown.push_back({std::string(entry.name), value, value == entry.show(defaults) ? "default" : "set"});
  }
  return shown;
}

}  // namespace quern::cli
