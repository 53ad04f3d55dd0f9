// quern __complete WORDS...: candidates for the last word, one per line. Reads local indexes only: no model file is
// opened.
#include <algorithm>
#include <set>

#include <CLI/CLI.hpp>

#include "quern/alias.h"

#include "cli/command_line.h"
#include "cli/commands/entries.h"

namespace quern::cli {
namespace {

std::vector<std::string> SplitChoices(const std::string& text) {
  std::vector<std::string> choices;
  for (size_t at = 0; at <= text.size();) {
    const size_t bar = std::min(text.find('|', at), text.size());
    choices.push_back(text.substr(at, bar - at));
    at = bar + 1;
  }
  return choices;
}

class Complete final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    // Words may look like flags: everything is taken as it stands.
    app_ = &app;
  }

  Result<ExitCode> Run(Invocation& in) override {
    std::vector<std::string> words = app_->remaining();
    const std::string current = words.empty() ? "" : words.back();
    if (!words.empty()) words.pop_back();
    std::set<std::string> candidates = Candidates(in, words, current);
    for (const std::string& candidate : candidates) {
      if (candidate.starts_with(current)) in.out.Write(candidate + "\n");
    }
    return ExitCode::kOk;
  }

 private:
  static std::set<std::string> Candidates(const Invocation& in, const std::vector<std::string>& words,
                                          const std::string& current) {
    const CLI::App* app = &in.app;
    bool has_model = false;
    for (size_t i = 0; i < words.size(); ++i) {
      const CLI::Option* option = FindFlag(*app, in.app, words[i]);
      const bool value_follows =
          option != nullptr && option->get_items_expected_min() > 0 && words[i].find('=') == std::string::npos;
      if (value_follows && i + 1 == words.size()) return ValuesOf(*option);
      if (value_follows) {
        ++i;
      } else if (words[i].starts_with("-")) {
        continue;
      } else if (const CLI::App* sub = Subcommand(*app, words[i])) {
        app = sub;
      } else {
        has_model = true;
      }
    }
    if (current.starts_with("-")) return Flags(*app, in.app);
    std::set<std::string> names = Subcommands(*app);
    if (names.empty() && !has_model) names = app->get_name() == "completion" ? ShellNames(*app) : ModelNames(in, *app);
    return names;
  }

  static const CLI::Option* FindFlag(const CLI::App& app, const CLI::App& root, const std::string& word) {
    if (!word.starts_with("-")) return nullptr;
    const std::string name = word.substr(0, word.find('='));
    const CLI::Option* option = app.get_option_no_throw(name);
    return option != nullptr ? option : root.get_option_no_throw(name);
  }

  static const CLI::App* Subcommand(const CLI::App& app, const std::string& name) {
    const auto subs = app.get_subcommands([](const CLI::App*) { return true; });
    const auto found =
        std::find_if(subs.begin(), subs.end(), [&](const CLI::App* sub) { return sub->check_name(name); });
    return found == subs.end() ? nullptr : *found;
  }

  static std::set<std::string> Subcommands(const CLI::App& app) {
    std::set<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (!sub->get_name().starts_with("__")) names.insert(sub->get_name());
    }
    return names;
  }

  static std::set<std::string> Flags(const CLI::App& app, const CLI::App& root) {
    std::set<std::string> flags;
    for (const CLI::App* owner : {&app, &root}) {
      for (const CLI::Option* option : owner->get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        for (const std::string& name : option->get_lnames()) flags.insert("--" + name);
      }
    }
    return flags;
  }

  static std::set<std::string> ValuesOf(const CLI::Option& option) {
    const std::string choices = option.get_type_name();
    if (choices.find('|') == std::string::npos) return {};
    const std::vector<std::string> values = SplitChoices(choices);
    return {values.begin(), values.end()};
  }

  static std::set<std::string> ShellNames(const CLI::App& app) { return ValuesOf(*app.get_option("SHELL")); }

  static std::set<std::string> ModelNames(const Invocation& in, const CLI::App& app) {
    const bool wants_model = app.get_option_no_throw("MODEL") != nullptr || app.get_option_no_throw("REF") != nullptr;
    if (!wants_model) return {};
    std::set<std::string> names;
    if (const auto aliases = ListAliases(DefaultAliasPath())) {
      for (const Alias& alias : *aliases) names.insert(alias.name);
    }
    if (const auto models = ListModels(in.resolve_options())) {
      for (const ListedModel& model : *models) names.insert(model.name);
    }
    return names;
  }

  CLI::App* app_ = nullptr;
};

}  // namespace

CommandEntry CompleteCommand() {
  return {.name = "__complete",
          .summary = "Candidates for the shell",
          .examples = "  quern __complete ch\n  quern __complete chat --think \"\"",
          .hidden = true,
          .runs_without_config = true,
          .raw_arguments = true,
          .make = [] { return std::unique_ptr<Command>(new Complete); }};
}

}  // namespace quern::cli
