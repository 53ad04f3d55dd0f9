// quern alias: short names for models.
#include "quern/alias.h"

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/terminal/table.h"

namespace quern::cli {
namespace {

class AliasNames final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    list_ = AddSubcommand(app, "list", "List all aliases");
    set_ = AddSubcommand(app, "set", "Add or replace an alias");
    Require(AddArgument(*set_, "NAME", &name_, "the alias"));
    Require(AddArgument(*set_, "REF", &reference_, "what it stands for"));
    AddSwitch(*set_, "--force", &force_, "also when a built-in alias has this name");
    remove_ = AddSubcommand(app, "rm", "Remove an alias");
    Require(AddArgument(*remove_, "NAME", &name_, "the alias"));
  }

  Result<ExitCode> Run(Invocation& in) override {
    const std::string path = DefaultAliasPath();
    if (WasChosen(list_)) return List(in, path);
    if (WasChosen(set_)) {
      QUERN_TRY(SetAlias(path, name_, reference_, force_ ? OverBuiltIn::kAllow : OverBuiltIn::kRefuse));
    } else {
      QUERN_TRY(RemoveAlias(path, name_));
    }
    if (in.json) in.out.Write(Dump({{"name", name_}, {WasChosen(set_) ? "reference" : "removed", Value()}}) + "\n");
    return ExitCode::kOk;
  }

 private:
  Json Value() const { return WasChosen(set_) ? Json(reference_) : Json(true); }

  static Result<ExitCode> List(Invocation& in, const std::string& path) {
    QUERN_ASSIGN_OR_RETURN(const std::vector<Alias> aliases, ListAliases(path));
    Json list = Json::array();
    Table table({"ALIAS", "REFERENCE", "FROM"});
    for (const Alias& alias : aliases) {
      list.push_back({{"name", alias.name}, {"reference", alias.reference}, {"built_in", alias.built_in}});
      table.Add({alias.name, alias.reference, alias.built_in ? "built in" : "user"});
    }
    in.out.Write(in.json ? DumpPretty({{"aliases", std::move(list)}}) + "\n" : table.Text());
    return ExitCode::kOk;
  }

  CLI::App* list_ = nullptr;
  CLI::App* set_ = nullptr;
  CLI::App* remove_ = nullptr;
  std::string name_, reference_;
  bool force_ = false;
};

}  // namespace

CommandEntry AliasCommand() {
  return {.name = "alias",
          .summary = "List, set and remove short names for models",
          .examples = "  quern alias set mine ./models/mine.gguf\n  quern alias list",
          .make = [] { return std::unique_ptr<Command>(new AliasNames); }};
}

}  // namespace quern::cli
