#include "cli/commands/generate_request.h"

#include <sstream>

#include "cli/messages_json.h"
#include "cli/sampling_fields.h"
#include "cli/text_input.h"

namespace quern::cli {
Result<std::string> ReadTools(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(path));
  QUERN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path));
  if (!json.is_array()) return Fail(Code::kInvalidArgument, "{}: expected an array of tool declarations", path);
  return text;
}

ThinkMode ThinkModeFrom(std::string_view text) {
  return text == "on" ? ThinkMode::kOn : text == "off" ? ThinkMode::kOff : ThinkMode::kAuto;
}

void RequestFlags::Add(CLI::App& app, SettingFlags& settings) {
  prompt_option_ = AddText(app, "-p,--prompt", &prompt_, "the prompt");
  AddText(app, "-f,--file", &file_, "read the prompt from a file; - is standard input", "FILE");
  AddText(app, "--messages", &messages_, "a JSON array of chat messages instead of a prompt", "FILE");
  AddText(app, "--system", &system_, "system message");
  AddSwitch(app, "--raw", &raw_, "the prompt as it is, without the chat template");
  AddText(app, "--tools", &tools_, "tool declarations (JSON array); the answer is a chat message as JSON", "FILE");
  AddParsed(app, "--tool-choice", "auto|none", "whether tools may be called [default auto]",
            [this](const std::string& text) -> Status {
              tool_choice_ = text;
              return {};
            });
  AddInt(app, "--logprobs", &logprobs_, 0, 20, "likeliest alternatives to report per token, with --json");
  AddList(app, "--stop", &stop_, "end the answer before this text");
  AddSwitch(app, "--ignore-eos", &ignore_eos_, "do not stop at the end token (benchmarks)");
  AddSetting(app, "generation.max_tokens", &settings);
  AddSetting(app, "generation.think", &settings);
  missing_.Add(app, {"--think-budget", "", "limiting the thinking"});
  AddSamplingFlags(app, &sampling_);
}

Result<GenerateRequest> RequestFlags::BuildWithoutPrompt(const Invocation& in) const {
  QUERN_TRY(missing_.Check());
  if (tool_choice_ != "auto" && tool_choice_ != "none") {
    return Fail(Code::kUnsupported, "--tool-choice {} is not in this build yet: constrained output", tool_choice_);
  }
  QUERN_TRY(CheckUtf8(system_, "--system"));
  for (const std::string& stop : stop_) QUERN_TRY(CheckUtf8(stop, "--stop"));
  GenerateRequest request;
  request.sampling = sampling_;
  request.max_tokens = in.config.GetInt("generation.max_tokens");
  request.stop = stop_;
  request.ignore_eos = ignore_eos_;
  request.logprobs = static_cast<int>(logprobs_);
  request.chat.think = ThinkModeFrom(in.config.Get("generation.think"));
  if (has_tools()) {
    QUERN_ASSIGN_OR_RETURN(request.chat.tools_json, ReadTools(tools_));
  }
  return request;
}

GenerateRequest RequestFlags::WithMessages(const GenerateRequest& base,
                                           const std::vector<ChatMessage>& messages) const {
  GenerateRequest request = base;
  if (raw_) {
    request.text = messages.back().content;
    return request;
  }
  if (!system_.empty()) request.messages.push_back({.role = ChatRole::kSystem, .content = system_});
  request.messages.insert(request.messages.end(), messages.begin(), messages.end());
  return request;
}

Result<GenerateRequest> RequestFlags::Build(const Invocation& in) const {
  QUERN_ASSIGN_OR_RETURN(const GenerateRequest base, BuildWithoutPrompt(in));
  const int given = (IsGiven(prompt_option_) ? 1 : 0) + (file_.empty() ? 0 : 1) + (messages_.empty() ? 0 : 1);
  if (given > 1) return Fail(Code::kInvalidArgument, "--prompt, --file and --messages exclude each other");
  if (given == 0 && in.terminal.stdin_is_terminal) {
    return WithHint(Fail(Code::kInvalidArgument, "there is no prompt"), "give -p TEXT, -f FILE or --messages FILE");
  }
  if (!messages_.empty()) {
    if (raw_) return Fail(Code::kInvalidArgument, "--raw and --messages exclude each other");
    QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(messages_));
    QUERN_ASSIGN_OR_RETURN(const Json json, ParseJson(text, messages_));
    QUERN_ASSIGN_OR_RETURN(const std::vector<ChatMessage> messages, MessagesFromJson(json, messages_));
    return WithMessages(base, messages);
  }
  std::string prompt = prompt_;
  if (IsGiven(prompt_option_)) {
    QUERN_TRY(CheckUtf8(prompt, "--prompt"));
  } else {
    QUERN_ASSIGN_OR_RETURN(prompt, ReadUtf8(file_.empty() ? "-" : file_));
  }
  if (prompt.empty()) return Fail(Code::kInvalidArgument, "the prompt is empty");
  return WithMessages(base, {{.role = ChatRole::kUser, .content = prompt}});
}

Result<std::vector<BatchLine>> ReadBatch(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, ReadUtf8(path));
  std::vector<BatchLine> lines;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string what = fmt::format("{}:{}", path, number);
    QUERN_ASSIGN_OR_RETURN(const Json json, ParseJson(line, what));
    if (!json.is_object()) return Fail(Code::kInvalidArgument, "{}: expected an object", what);
    BatchLine parsed{.number = number, .id = json.contains("id") ? json["id"] : Json()};
    if (json.contains("messages") == json.contains("prompt")) {
      return Fail(Code::kInvalidArgument, "{}: give either \"prompt\" or \"messages\"", what);
    }
    if (json.contains("prompt")) {
      QUERN_ASSIGN_OR_RETURN(const std::string prompt, GetString(json, "prompt", what));
      parsed.messages.push_back({.role = ChatRole::kUser, .content = prompt});
    } else {
      QUERN_ASSIGN_OR_RETURN(parsed.messages, MessagesFromJson(json, what));
    }
    lines.push_back(std::move(parsed));
  }
  return lines;
}

}  // namespace quern::cli
