// quern config: the effective configuration and where it comes from.
#include "quern/config.h"

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/terminal/table.h"

namespace quern::cli {
namespace {

class ConfigInfo final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    show_ = AddSubcommand(app, "show", "Print the effective value of every setting");
    AddSwitch(*show_, "--origin", &origin_, "where each value comes from");
    check_ = AddSubcommand(app, "check", "Read the configuration and report the first error");
    path_ = AddSubcommand(app, "path", "Print where the file is looked for");
    schema_ = AddSubcommand(app, "schema", "Print the JSON schema of the file");
  }

  Result<ExitCode> Run(Invocation& in) override {
    if (WasChosen(schema_)) {
      in.out.Write(ConfigSchema() + "\n");
      return ExitCode::kOk;
    }
    const std::string path = in.config.path().empty() ? DefaultConfigPath() : in.config.path();
    if (WasChosen(path_)) {
      const std::string shown = in.config_path.empty() ? path : in.config_path;
      in.out.Write(in.json ? Dump({{"path", shown}, {"read", !in.config.path().empty()}}) + "\n" : shown + "\n");
      return ExitCode::kOk;
    }
    if (in.config_error) return tl::unexpected(*in.config_error);
    if (WasChosen(show_)) return Show(in);
    const bool read = !in.config.path().empty();
    if (in.json) {
      in.out.Write(Dump({{"ok", true}, {"path", read ? Json(path) : Json()}}) + "\n");
    } else {
      in.out.Write(read ? path + ": ok\n" : "no configuration file; defaults and environment are ok\n");
    }
    return ExitCode::kOk;
  }

 private:
  Result<ExitCode> Show(Invocation& in) const {
    Json document = Json::object();
    Table table(origin_ ? std::vector<std::string>{"KEY", "VALUE", "ORIGIN", "WHERE"}
                        : std::vector<std::string>{"KEY", "VALUE"});
    for (const EffectiveSetting& setting : in.config.settings()) {
      const std::string key(setting.setting.key);
      const std::string origin(quern::NameOf(setting.origin));
      if (origin_) {
        document[key] = {{"value", setting.value}, {"origin", origin}, {"where", setting.where}};
        table.Add({key, setting.value, origin, setting.where});
      } else {
        document[key] = setting.value;
        table.Add({key, setting.value});
      }
    }
    in.out.Write(in.json ? DumpPretty(document) + "\n" : table.Text());
    return ExitCode::kOk;
  }

  CLI::App* show_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* path_ = nullptr;
  CLI::App* schema_ = nullptr;
  bool origin_ = false;
};

}  // namespace

CommandEntry ConfigCommand() {
  return {.name = "config",
          .summary = "Show or check the configuration",
          .examples = "  quern config show --origin\n  quern config check --config ./quern.json",
          .runs_without_config = true,
          .make = [] { return std::unique_ptr<Command>(new ConfigInfo); }};
}

}  // namespace quern::cli
