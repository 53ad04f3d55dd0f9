// quern help: commands and topics.
#include <CLI/CLI.hpp>

#include "quern/suggest.h"

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/terminal/table.h"

namespace quern::cli {
namespace {

class Help final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    AddArgument(app, "TOPIC", &topic_, "a command, or exit-codes");
  }

  Result<ExitCode> Run(Invocation& in) override {
    if (topic_ == "exit-codes") {
      PrintExitCodes(in);
      return ExitCode::kOk;
    }
    std::string text;
    if (topic_.empty()) {
      text = in.app.get_formatter()->make_help(&in.app, "", CLI::AppFormatMode::Normal);
    } else {
      const CommandEntry* entry = FindCommand(topic_);
      if (entry == nullptr) return UnknownTopic();
      const CLI::App* sub = in.app.get_subcommand(std::string(entry->name));
      text = sub->get_formatter()->make_help(sub, "quern " + std::string(entry->name), CLI::AppFormatMode::Normal);
    }
    in.out.Write(in.json ? Dump({{"topic", topic_}, {"text", text}}) + "\n" : text);
    return ExitCode::kOk;
  }

 private:
  tl::unexpected<Error> UnknownTopic() const {
    std::vector<std::string> topics = {"exit-codes"};
    for (const CommandEntry& entry : Commands()) {
      if (!entry.hidden) topics.emplace_back(entry.name);
    }
    const std::vector<std::string> nearest = NearestNames(topic_, topics);
    return WithHint(
        Fail(Code::kInvalidArgument, "no help on \"{}\"", topic_),
        nearest.empty() ? "quern --help lists the commands" : fmt::format("did you mean {}?", nearest.front()));
  }

  static void PrintExitCodes(Invocation& in) {
    Json list = Json::array();
    Table table({"CODE", "NAME", "WHEN"});
    for (const ExitCodeRow& row : ExitCodes()) {
      list.push_back({{"code", static_cast<int>(row.code)}, {"name", row.name}, {"when", row.when}});
      table.Add({fmt::to_string(static_cast<int>(row.code)), std::string(row.name), std::string(row.when)});
    }
    in.out.Write(in.json ? DumpPretty({{"exit_codes", std::move(list)}}) + "\n" : table.Text());
  }

  std::string topic_;
};

}  // namespace

CommandEntry HelpCommand() {
  return {.name = "help",
          .summary = "Help on a command or a topic (exit-codes)",
          .examples = "  quern help chat\n  quern help exit-codes",
          .runs_without_config = true,
          .make = [] { return std::unique_ptr<Command>(new Help); }};
}

}  // namespace quern::cli
