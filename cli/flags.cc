#include "cli/flags.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "quern/config.h"

#include "cli/numbers.h"

namespace quern::cli {
namespace {

using StatusFn = std::function<Status(const std::string&)>;

// How a failed Status leaves a CLI11 callback: the library knows only exceptions, and cli/app.cc catches them all.
void ThrowIfBad(const std::string& name, const Status& status) {
  if (!status) throw CLI::ValidationError(name, status.error().message);
}

std::string DisplayName(const std::string& names) {
  const size_t dashes = names.find("--");
  return dashes == std::string::npos ? names : names.substr(dashes, names.find(',', dashes) - dashes);
}

CLI::Option* Single(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                    std::function<Status(const std::string&)> parse) {
  const std::string display = DisplayName(names);
  CLI::Option* option = app.add_option(
      names,
      [parse = std::move(parse), display](const CLI::results_t& results) {
        ThrowIfBad(display, parse(results.back()));
        return true;
      },
      help);
  return option->type_name(metavar)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->allow_extra_args(false);
}

CLI::Option* Collected(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                       std::function<Status(const CLI::results_t&)> parse) {
  const std::string display = DisplayName(names);
  CLI::Option* option = app.add_option(
      names,
      [parse = std::move(parse), display](const CLI::results_t& results) {
        ThrowIfBad(display, parse(results));
        return true;
      },
      help + " (repeatable)");
  return option->type_name(metavar)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
}

Result<int64_t> ParseInRange(const std::string& text, int64_t low, int64_t high) {
  QUERN_ASSIGN_OR_RETURN(const int64_t value, ParseInt(text));
  if (value < low || value > high) {
    return Fail(Code::kInvalidArgument, "{} is out of range; allowed is {} to {}", value, low, high);
  }
  return value;
}

std::string RangeText(int64_t low, int64_t high) {
  return high >= INT32_MAX ? fmt::format("{} and above", low) : fmt::format("{} to {}", low, high);
}

}  // namespace

CLI::Option* AddText(CLI::App& app, const std::string& names, std::string* target, const std::string& help,
                     const std::string& metavar) {
  const std::string suffix = target->empty() ? "" : fmt::format(" [default {}]", *target);
  return Single(app, names, metavar, help + suffix, [target](const std::string& text) -> Status {
    *target = text;
    return {};
  });
}

CLI::Option* AddList(CLI::App& app, const std::string& names, std::vector<std::string>* target, const std::string& help,
                     const std::string& metavar) {
  return Collected(app, names, metavar, help, [target](const CLI::results_t& results) -> Status {
    *target = results;
    return {};
  });
}

CLI::Option* AddInt(CLI::App& app, const std::string& names, int64_t* target, int64_t low, int64_t high,
                    const std::string& help) {
  return Single(app, names, "N", fmt::format("{} [{}; default {}]", help, RangeText(low, high), *target),
                [=](const std::string& text) -> Status {
                  QUERN_ASSIGN_OR_RETURN(*target, ParseInRange(text, low, high));
                  return {};
                });
}

CLI::Option* AddIntList(CLI::App& app, const std::string& names, std::vector<int64_t>* target, int64_t low,
                        int64_t high, const std::string& help) {
  const std::string text = fmt::format("{} [{}; default {}]", help, RangeText(low, high), fmt::join(*target, ","));
  return Collected(app, names, "N", text, [=](const CLI::results_t& results) -> Status {
    target->clear();
    for (const std::string& result : results) {
      QUERN_ASSIGN_OR_RETURN(const int64_t value, ParseInRange(result, low, high));
      target->push_back(value);
    }
    return {};
  });
}

CLI::Option* AddChoice(CLI::App& app, const std::string& names, std::string* target, const Choices& choices,
                       const std::string& help) {
  const std::string suffix = target->empty() ? "" : fmt::format(" [default {}]", *target);
  return Single(app, names, fmt::format("{}", fmt::join(choices.values, "|")), help + suffix,
                [target, choices](const std::string& text) -> Status {
                  if (std::find(choices.values.begin(), choices.values.end(), text) == choices.values.end()) {
                    return Fail(Code::kInvalidArgument, "\"{}\" is not one of {}", text,
                                fmt::join(choices.values, "|"));
                  }
                  *target = text;
                  return {};
                });
}

CLI::Option* AddSwitch(CLI::App& app, const std::string& names, bool* target, const std::string& help) {
  return app.add_flag(names, *target, help);
}

CLI::Option* AddParsed(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                       std::function<Status(const std::string&)> parse) {
  return Single(app, names, metavar, help, std::move(parse));
}

CLI::Option* AddSetting(CLI::App& app, std::string_view key, SettingFlags* target) {
  const std::vector<Setting> settings = Settings();
  const auto setting = std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return s.key == key; });
  const std::string name(setting->key);
  const std::string flag(setting->flag);
  if (setting->type == SettingType::kBool) {
    const bool negative = flag.starts_with("--no-");
    const std::string names = negative ? flag : fmt::format("{},!--no-{}", flag, flag.substr(2));
    return app
        .add_flag_function(
            names, [target, name](int64_t count) { (*target)[name] = count > 0 ? "true" : "false"; },
            fmt::format("{} [env {}]", setting->meaning, setting->environment))
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  std::string metavar = setting->type == SettingType::kInt    ? "N"
                        : setting->type == SettingType::kSize ? "SIZE"
                                                              : "TEXT";
  if (setting->type == SettingType::kEnum) metavar = setting->allowed;
  std::string facts = setting->type == SettingType::kInt ? fmt::format("{}; ", setting->allowed) : "";
  if (!setting->default_value.empty()) facts += fmt::format("default {}; ", setting->default_value);
  return Single(app, flag, metavar, fmt::format("{} [{}env {}]", setting->meaning, facts, setting->environment),
                [target, name, flag](const std::string& text) -> Status {
                  static const Config& scratch = *new Config(Config::Defaults());
                  Config checked = scratch;
                  if (Status status = checked.SetFromFlag(name, text); !status) {
                    std::string message = status.error().message;
                    const std::string prefix = flag + ": " + name + ": ";
                    if (message.starts_with(prefix)) message = message.substr(prefix.size());
                    return MakeError(Code::kInvalidArgument, message);
                  }
                  (*target)[name] = text;
                  return {};
                });
}

CLI::Option* AddArgument(CLI::App& app, const std::string& name, std::string* target, const std::string& help) {
  return AddText(app, name, target, help, "");
}

CLI::Option* AddParsedList(CLI::App& app, const std::string& names, const std::string& metavar, const std::string& help,
                           StatusFn parse) {
  return Collected(app, names, metavar, help, [parse = std::move(parse)](const CLI::results_t& results) -> Status {
    for (const std::string& result : results) QUERN_TRY(parse(result));
    return {};
  });
}

CLI::Option* AddArguments(CLI::App& app, const std::string& name, std::vector<std::string>* target,
                          const std::string& help) {
  return app.add_option(name, *target, help)->type_name("");
}

CLI::Option* Require(CLI::Option* option) { return option->required(); }
CLI::Option* Exclude(CLI::Option* option, CLI::Option* other) { return option->excludes(other); }
CLI::Option* MakeValueOptional(CLI::Option* option) { return option->expected(0, 1); }
CLI::Option* Group(CLI::Option* option, const std::string& title) { return option->group(title); }
bool IsGiven(const CLI::Option* option) { return option->count() > 0; }

CLI::App* AddSubcommand(CLI::App& app, const std::string& name, const std::string& summary) {
  app.require_subcommand(1);
  return app.add_subcommand(name, summary)->fallthrough();
}
bool WasChosen(const CLI::App* app) { return app->parsed(); }

void MissingFlags::Add(CLI::App& app, const MissingFlag& flag) {
  const std::string display = DisplayName(flag.names);
  const auto refuse = [this, display, why = flag.why] {
    status_ = Fail(Code::kUnsupported, "{} is not in this build yet: {}", display, why);
  };
  CLI::Option* option = nullptr;
  if (flag.takes_value) {
    option = Single(app, flag.names, "VALUE", "", [refuse, neutral = flag.neutral](const std::string& text) -> Status {
      if (neutral.empty() || text != neutral) refuse();
      return {};
    });
  } else {
    option = app.add_flag_callback(flag.names, refuse, "");
  }
  option->group("");
}

}  // namespace quern::cli
