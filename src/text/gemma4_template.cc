#include "text/gemma4_template.h"

#include <vector>

#include <fmt/format.h>

#include "base/hash.h"

namespace quern::text {
namespace {

struct TestedTemplate {
  std::string_view sha256;
  std::string_view name;
};

constexpr TestedTemplate kTested[] = {
    {"6f370036ab04c47978deabd9684cffb0d0942ec75f62d06f0e1012f13d32df17", "demo checkpoints"},
    {"85a08664d16d8f3be4416c92427b3ac10df1024ac566cc0b4bc3bab409393f98", "gemma-4-31B-it, 16,448 bytes"},
};

// A newline inside a template's string literal may be escaped or real.
bool HasLine(std::string_view text, std::string_view line) {
  return text.find(std::string(line) + "\\n") != std::string_view::npos ||
         text.find(std::string(line) + "\n") != std::string_view::npos;
}

enum class After : uint8_t { kNothing, kTurn, kToolAnswer, kBoth };

// In which case the generation prompt reaches the statement at `at`: the conditions of the if blocks around it say so.
After ReachedAfter(std::string_view tail, size_t at) {
  std::vector<std::string_view> conditions;
  for (size_t open = tail.find("{%"); open < at; open = tail.find("{%", open + 2)) {
    const size_t close = tail.find("%}", open);
    if (close == std::string_view::npos) break;
    std::string_view tag = tail.substr(open + 2, close - open - 2);
    tag.remove_prefix(std::min(tag.find_first_not_of("- \t\n"), tag.size()));
    if (tag.starts_with("if ")) {
      conditions.push_back(tag);
    } else if ((tag.starts_with("elif ") || tag.starts_with("else")) && !conditions.empty()) {
      conditions.back() = tag;
    } else if (tag.starts_with("endif") && !conditions.empty()) {
      conditions.pop_back();
    }
  }
  for (const std::string_view condition : conditions) {
    if (condition.find("!= 'tool_response'") != std::string_view::npos) return After::kTurn;
    if (condition.find("== 'tool_response'") != std::string_view::npos) return After::kToolAnswer;
  }
  return After::kBoth;
}

After FindStatement(std::string_view tail, std::string_view literal) {
  const size_t at = tail.find(literal);
  return at == std::string_view::npos ? After::kNothing : ReachedAfter(tail, at);
}

bool Includes(After after, After which) { return after == which || after == After::kBoth; }

}  // namespace

Gemma4Features ReadGemma4Features(std::string_view chat_template) {
  Gemma4Features features;
  if (chat_template.empty()) return features;
  features.tools = chat_template.find("<|tool_call>") != std::string_view::npos;
  features.thinking = chat_template.find("<|think|>") != std::string_view::npos;
  features.think_newline = HasLine(chat_template, "<|think|>");
  const size_t tail_at = chat_template.rfind("add_generation_prompt");
  if (tail_at == std::string_view::npos) return features;
  const std::string_view tail = chat_template.substr(tail_at);
  const After empty = FindStatement(tail, "<|channel>thought\\n<channel|>");
  features.empty_thought_at_turn = Includes(empty, After::kTurn);
  features.empty_thought_after_tool = Includes(empty, After::kToolAnswer);
  const After open = FindStatement(tail, "<|channel>thought\\n'");
  features.open_thought_at_turn = Includes(open, After::kTurn);
  features.open_thought_after_tool = Includes(open, After::kToolAnswer);
  return features;
}

std::string_view TestedTemplateName(std::string_view chat_template) {
  const std::string digest = Sha256Hex(chat_template);
  for (const TestedTemplate& tested : kTested) {
    if (tested.sha256 == digest) return tested.name;
  }
  return {};
}

std::string TemplateNotice(std::string_view family, std::string_view chat_template) {
  if (chat_template.empty()) return fmt::format("the file carries no chat template; using the {} layout", family);
  const std::string_view name = TestedTemplateName(chat_template);
  if (!name.empty()) return fmt::format("tested: {}", name);
  return fmt::format("the file's chat template (sha256 {}) is not one that was tested; using the {} layout",
                     Sha256Hex(chat_template).substr(0, 12), family);
}

}  // namespace quern::text
