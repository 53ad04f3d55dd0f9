// The flags of `quern generate` that make up a request: prompt, tools, sampling.
#pragma once

#include <string>
#include <vector>

#include "quern/generate.h"

#include "cli/flags.h"
#include "cli/invocation.h"
#include "cli/json_text.h"

namespace quern::cli {

class RequestFlags {
 public:
  void Add(CLI::App& app, SettingFlags& settings);
  bool has_tools() const { return !tools_.empty() && tool_choice_ != "none"; }

  // Reads the prompt: exactly one of --prompt, --file, --messages.
  Result<GenerateRequest> Build(const Invocation& in) const;
  // Sampling, tools and limits alone.
  Result<GenerateRequest> BuildWithoutPrompt(const Invocation& in) const;
  // With the system message of the flags in front, or raw text.
  GenerateRequest WithMessages(const GenerateRequest& base, const std::vector<ChatMessage>& messages) const;

 private:
  std::string prompt_, file_, messages_, system_, tools_, tool_choice_ = "auto";
  std::vector<std::string> stop_;
  int64_t logprobs_ = 0;
  bool raw_ = false, ignore_eos_ = false;
  SamplingParams sampling_;
  CLI::Option* prompt_option_ = nullptr;
  MissingFlags missing_;
};

// A line of --batch.
struct BatchLine {
  int number = 0;  // from 1
  Json id;         // as given; null when absent
  std::vector<ChatMessage> messages;
};
// InvalidArgument names file and line.
Result<std::vector<BatchLine>> ReadBatch(const std::string& path);

// Tool declarations: the text of a JSON array.
Result<std::string> ReadTools(const std::string& path);

// --think auto|on|off of the configuration.
ThinkMode ThinkModeFrom(std::string_view text);

}  // namespace quern::cli
