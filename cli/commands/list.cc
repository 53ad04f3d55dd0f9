// quern list: the models on this machine.
#include <algorithm>
#include <ctime>

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/terminal/table.h"

namespace quern::cli {
namespace {

std::string Date(int64_t unix_s) {
  const auto when = static_cast<std::time_t>(unix_s);
  std::tm local = {};
  char text[32] = "";
  if (unix_s > 0 && localtime_r(&when, &local) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local);
  return text;
}

class List final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    AddChoice(app, "--task", &task_, {{"generate", "embed", "extract", "draft", "adapter"}},
              "only models for this task");
    AddSwitch(app, "--all", &all_, "partial downloads too");
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_ASSIGN_OR_RETURN(std::vector<ListedModel> models, ListModels(in.resolve_options()));
    std::erase_if(models, [&](const ListedModel& model) {
      return (!task_.empty() && model.task != task_) || (!all_ && model.state == "partial");
    });
    if (in.json) {
      Json list = Json::array();
      for (const ListedModel& model : models) {
        list.push_back({{"name", model.name},
                        {"variant", model.variant},
                        {"revision", model.revision},
                        {"path", model.path},
                        {"task", model.task},
                        {"state", model.state},
                        {"size_bytes", model.size_bytes},
                        {"modified_unix_s", model.modified_unix_s}});
      }
      in.out.Write(DumpPretty({{"models", std::move(list)}}) + "\n");
      return ExitCode::kOk;
    }
    Table table({"NAME", "VARIANT", "REVISION", "SIZE", "TASK", "MODIFIED", "STATE"});
    for (const ListedModel& model : models) {
      table.Add({model.name, model.variant, model.revision, FormatBytes(model.size_bytes), model.task,
                 Date(model.modified_unix_s), model.state});
    }
    in.out.Write(table.Text());
    return ExitCode::kOk;
  }

 private:
  std::string task_;
  bool all_ = false;
};

}  // namespace

CommandEntry ListCommand() {
  return {.name = "list",
          .alias = "ls",
          .summary = "List the models on this machine",
          .examples = "  quern list\n  quern ls --task generate --json",
          .make = [] { return std::unique_ptr<Command>(new List); }};
}

}  // namespace quern::cli
