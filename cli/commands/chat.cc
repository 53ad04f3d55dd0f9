// quern chat: a conversation at the terminal or through pipes.
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "cli/chat/loop.h"
#include "cli/commands/entries.h"
#include "cli/commands/generate_request.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/sampling_fields.h"
#include "cli/terminal/line_editor.h"
#include "cli/text_input.h"

namespace quern::cli {
namespace {

class Chat final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags& settings) override {
    AddArgument(app, "MODEL", &model_, kModelOrDefaultHelp);
    CLI::Option* text = AddText(app, "--system", &system_, "system message");
    Exclude(AddText(app, "--system-file", &system_file_, "read the system message from a file", "FILE"), text);
    AddText(app, "--session", &session_, "load the conversation from FILE when it exists, save it after every turn",
            "FILE");
    AddText(app, "--tools", &tools_, "tool declarations, a JSON array", "FILE");
    AddChoice(app, "--stats", &stats_, {{"on", "off"}}, "the statistics line after each answer");
    AddList(app, "--stop", &stop_, "end an answer before this text");
    for (const char* key : {"generation.max_tokens", "generation.think", "generation.show_thinking",
                            "generation.context_policy", "general.no_history"}) {
      AddSetting(app, key, &settings);
    }
    missing_.Add(app, {"--server", "", "talking to a server"});
    missing_.Add(app, {"--think-budget", "", "limiting the thinking"});
    AddSamplingFlags(app, &sampling_);
    model_flags_.Add(app, settings);
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_TRY(missing_.Check());
    QUERN_TRY(model_flags_.Check());
    const std::unique_ptr<ChatView> view = in.json ? MakeJsonView(in) : MakeTextView(in);
    ChatState state{.in = in, .view = *view};
    state.interactive = in.terminal.stdin_is_terminal;
    state.session_path = session_;
    QUERN_ASSIGN_OR_RETURN(state.settings, Settings(in));
    QUERN_ASSIGN_OR_RETURN(state.conversation.system, SystemMessage());
    QUERN_ASSIGN_OR_RETURN(const ModelFile file,
                           ResolveOrDefault(in, model_, [&view](const std::string& notice) { view->Notice(notice); }));
    QUERN_TRY(SwitchModel(state, file, LoadOptionsFrom(in.config)));
    if (!state.model->info().chat_notice.empty()) view->Notice(state.model->info().chat_notice);
    QUERN_TRY(ResumeSession(state));
    if (state.interactive) view->Notice(DescribeModel(*state.model));
    HandleTermination();
    return Converse(state);
  }

 private:
  Result<ChatSettings> Settings(const Invocation& in) const {
    for (const std::string& stop : stop_) QUERN_TRY(CheckUtf8(stop, "--stop"));
    ChatSettings settings;
    settings.sampling = sampling_;
    settings.stop = stop_;
    settings.stats = stats_ == "on";
    settings.max_tokens = in.config.GetInt("generation.max_tokens");
    settings.think = ThinkModeFrom(in.config.Get("generation.think"));
    settings.context_policy =
        in.config.Get("generation.context_policy") == "error" ? ContextPolicy::kError : ContextPolicy::kTrim;
    QUERN_ASSIGN_OR_RETURN(settings.show_thinking, ParseThinkingDisplay(in.config.Get("generation.show_thinking")));
    if (!tools_.empty()) {
      QUERN_ASSIGN_OR_RETURN(settings.tools_json, ReadTools(tools_));
    }
    return settings;
  }

  Result<std::string> SystemMessage() const {
    if (!system_file_.empty()) return ReadUtf8(system_file_);
    QUERN_TRY(CheckUtf8(system_, "--system"));
    return system_;
  }

  Status ResumeSession(ChatState& state) const {
    std::error_code ignored;
    if (session_.empty() || !std::filesystem::exists(session_, ignored)) return {};
    QUERN_ASSIGN_OR_RETURN(SavedSession saved, LoadSession(session_));
    const std::string system = state.conversation.system;
    Adopt(state, std::move(saved));
    if (!system.empty()) state.conversation.system = system;  // the flag wins
    state.view.Notice(fmt::format("(continuing {} with {} turns)", session_, state.conversation.num_turns()));
    return {};
  }

  static Result<ExitCode> Converse(ChatState& state) {
    const Invocation& in = state.in;
    const HistoryFile history(in.config.GetBool("general.no_history") ? "" : HistoryFile::DefaultPath());
    const auto write = [&in](std::string_view text) { in.diagnostics.Raw(text); };
    std::unique_ptr<LineSource> lines;
    if (!state.interactive) {
      lines = std::make_unique<StreamLines>(STDIN_FILENO, nullptr);
    } else if (!in.terminal.stderr_is_terminal || in.terminal.is_dumb) {
      lines = std::make_unique<StreamLines>(STDIN_FILENO, write);
    } else {
      QUERN_ASSIGN_OR_RETURN(lines, LineEditor::Create(history.Load()));
    }
    if (state.interactive) {
      state.ask = [&lines](std::string_view question) {
        const Result<InputLine> answer = lines->Read(question);
        return answer ? answer->text : std::string();
      };
    }
    return RunChatLoop(state, *lines, history);
  }

  std::string model_, system_, system_file_, session_, tools_, stats_ = "on";
  std::vector<std::string> stop_;
  SamplingParams sampling_;
  ModelFlags model_flags_;
  MissingFlags missing_;
};

}  // namespace

CommandEntry ChatCommand() {
  return {.name = "chat",
          .summary = "Talk with a model",
          .examples = "  quern chat gemma4:e2b\n  quern chat --system \"Answer in one sentence.\" --session notes.json",
          .make = [] { return std::unique_ptr<Command>(new Chat); }};
}

}  // namespace quern::cli
