#include "cli/command_line.h"

#include <algorithm>

#include "quern/suggest.h"
#include "quern/version.h"

namespace quern::cli {
namespace {

constexpr int kHelpColumn = 36;

std::string Footer(const CommandEntry& entry) {
  std::string footer = "Examples:\n";
  footer += entry.examples;
  footer += "\nGlobal flags (--json, --config, --color, ...): quern --help";
  return footer;
}

// The subcommand that was parsed, at any depth.
const CLI::App* Deepest(const CLI::App* app) {
  for (;;) {
    const std::vector<CLI::App*> chosen = app->get_subcommands();
    if (chosen.empty()) return app;
    app = chosen.back();
  }
}

std::string FullName(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* parent = app->get_parent(); parent != nullptr; parent = parent->get_parent()) {
    name = parent->get_name() + " " + name;
  }
  return name;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const CommandEntry& entry : Commands()) {
    if (entry.hidden) continue;
    names.emplace_back(entry.name);
    if (!entry.alias.empty()) names.emplace_back(entry.alias);
  }
  return names;
}

Error Usage(std::string message, std::string hint) {
  return {Code::kInvalidArgument, std::move(message), std::move(hint), {}};
}

}  // namespace

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

CommandLine::CommandLine() : app_("A local engine for Gemma 4", std::string(kProductName)) {
  app_.get_formatter()->column_width(kHelpColumn);
  app_.get_formatter()->label("OPTIONS", "FLAGS");
  app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app_.require_subcommand(0, 1);
  app_.footer(
      "quern COMMAND --help shows the flags of a command; quern help exit-codes lists the exit codes.\n\n"
      "Examples:\n  quern chat\n  echo \"Summarise: ...\" | quern generate gemma4:e4b -f -");
  AddGlobalFlags();
  for (const CommandEntry& entry : Commands()) {
    CLI::App* sub = app_.add_subcommand(std::string(entry.name), std::string(entry.summary));
    if (!entry.alias.empty()) sub->alias(std::string(entry.alias));
    sub->footer(Footer(entry));
    if (entry.hidden) sub->group("");
    if (entry.raw_arguments) {
      sub->set_help_flag();
      sub->allow_extras();
      sub->prefix_command();
    } else {
      sub->fallthrough();
    }
    std::unique_ptr<Command> command = entry.make();
    command->Configure(*sub, settings_);
    commands_[entry.name] = std::move(command);
  }
}

void CommandLine::AddGlobalFlags() {
  AddText(app_, "--config", &config_path_,
          "configuration file [env QUERN_CONFIG; default $XDG_CONFIG_HOME/quern/config.json]", "FILE");
  AddSwitch(app_, "--json", &json_, "machine output on stdout: one JSON document, or one object per line");
  AddSwitch(app_, "-q,--quiet", &quiet_, "only errors on stderr");
  app_.add_flag("-v,--verbose", verbose_, "more on stderr");
  for (const char* key : {"general.log_format", "general.progress", "general.color", "general.offline",
                          "generation.device", "store.models_dir"}) {
    AddSetting(app_, key, &settings_);
  }
  AddSwitch(app_, "--version", &version_, "version, build and the kernels for this machine");
}

Verbosity CommandLine::verbosity() const {
  return quiet_ ? Verbosity::kQuiet : verbose_ > 0 ? Verbosity::kVerbose : Verbosity::kNormal;
}

bool CommandLine::AsksForJson(std::span<const std::string> words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end;
}

// The first word that is neither a global flag nor its value must be a command. CLI11 would report a misspelt command
// as a surplus argument.
Status CommandLine::CheckCommandName(std::span<const std::string> words) const {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return {};
    if (word.size() > 1 && word.front() == '-') {
      const bool has_value = word.find('=') != std::string::npos;
      const CLI::Option* option = app_.get_option_no_throw(word.substr(0, word.find('=')));
      if (option == nullptr) return {};  // the parse will name it
      if (!has_value && option->get_items_expected_min() > 0) ++i;
      continue;
    }
    if (FindCommand(word) != nullptr) return {};
    for (const MissingCommand& missing : MissingCommands()) {
      if (missing.name == word) {
        return WithHint(Fail(Code::kUnsupported, "quern {} is not in this build yet: {}", missing.name, missing.what),
                        "quern --help lists the commands");
      }
    }
    const std::vector<std::string> nearest = NearestNames(word, CommandNames());
    return tl::unexpected(Usage(fmt::format("unknown command \"{}\"", word),
                                nearest.empty() ? "quern --help lists the commands"
                                                : fmt::format("did you mean \"quern {}\"?", nearest.front())));
  }
  return {};
}

Error CommandLine::ExplainFailure(const std::exception& failure) const {
  const CLI::App* app = Deepest(&app_);
  const std::string help = fmt::format("{} --help shows what it takes", FullName(app));
  std::vector<std::string> rest = app_.remaining(true);
  const auto flag = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-' && word != "--";
  });
  if (flag != rest.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    std::vector<std::string> known = FlagNames(*app);
    const std::vector<std::string> global = FlagNames(app_);
    known.insert(known.end(), global.begin(), global.end());
    const std::vector<std::string> nearest = NearestNames(name, known);
    return Usage(fmt::format("unknown flag {} of {}", name, FullName(app)),
                 nearest.empty() ? help : fmt::format("did you mean {}?", nearest.front()));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) != nullptr && !rest.empty()) {
    return Usage(fmt::format("unexpected argument \"{}\" of {}", rest.front(), FullName(app)), help);
  }
  return Usage(failure.what(), help);
}

Result<CommandLine::Parsed> CommandLine::Parse(std::span<const std::string> words) {
  QUERN_TRY(CheckCommandName(words));
  Parsed parsed;
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // the order CLI11 takes
  try {
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    parsed.help = app_.help();
    return parsed;
  } catch (const std::exception& failure) {
    return tl::unexpected(ExplainFailure(failure));
  }
  if (version_) {
    parsed.version = true;
    return parsed;
  }
  if (app_.get_subcommands().empty()) {
    return tl::unexpected(
        Usage("no command given", "quern --help lists the commands; quern chat starts a conversation"));
  }
  parsed.entry = FindCommand(app_.get_subcommands().front()->get_name());
  parsed.command = commands_[parsed.entry->name].get();
  return parsed;
}

}  // namespace quern::cli
