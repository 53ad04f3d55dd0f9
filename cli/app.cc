#include "cli/app.h"

#include <clocale>
#include <cstring>
#include <string>
#include <vector>

#include <langinfo.h>
#include <unistd.h>

#include "quern/version.h"

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/json_text.h"

namespace quern::cli {
namespace {

// Widths and line editing need a UTF-8 character type, whatever LANG says. Only LC_CTYPE: numbers stay as in the C
// locale.
void UseUtf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
}

void PrintVersion(Output& out, bool json) {
  const BuildInfo build = GetBuildInfo();
  if (!json) {
    // The first line is for programs that read it.
    out.Print("{} {}\ncommit {}, {} build, {}\nkernels: {}\n", kProductName, build.version, build.commit,
              build.build_type, build.compiler, fmt::join(build.backends, ", "));
    return;
  }
  out.Write(DumpPretty({{"name", kProductName},
                        {"version", build.version},
                        {"commit", build.commit},
                        {"compiler", build.compiler},
                        {"build_type", build.build_type},
                        {"backends", build.backends},
                        {"cuda", nullptr},
                        {"kernel_artifacts", nullptr}}) +
            "\n");
}

// The same message on stderr and, with --json, as one line on stdout. A command that streams lines has printed some
// already; then the error is one more line.
int Report(const Error& error, bool json, Output& out, const Diagnostics& diagnostics) {
  const ExitCode exit = ExitCodeFor(error.code);
  diagnostics.ShowError(error);
  if (json) {
    Json document = ErrorJson(error, exit);
    if (out.used()) document["type"] = "error";
    out.Write(Dump(document) + "\n");
  }
  static_cast<void>(out.Finish());  // there is nothing left to say it to
  return static_cast<int>(exit);
}

ColorMode ColorModeFrom(std::string_view text) {
  return text == "always" ? ColorMode::kAlways : text == "never" ? ColorMode::kNever : ColorMode::kAuto;
}

bool IsFromFlag(const Config& config, std::string_view key) {
  for (const EffectiveSetting& setting : config.settings()) {
    if (setting.setting.key == key) return setting.origin == Origin::kFlag;
  }
  return false;
}

struct Loaded {
  Config config = Config::Defaults();
  std::optional<Error> error;
};

Loaded LoadConfig(const CommandLine& line) {
  Loaded loaded;
  Result<Config> config = Config::Load(line.config_path());
  if (config) {
    loaded.config = std::move(*config);
  } else {
    loaded.error = std::move(config).error();
  }
  for (const auto& [key, value] : line.settings()) {
    // The parse has judged the value with the same function.
    if (Status status = loaded.config.SetFromFlag(key, value); !status) loaded.error = std::move(status).error();
  }
  return loaded;
}

int RunCommand(const CommandLine& line, const CommandLine::Parsed& parsed, Output& out) {
  Loaded loaded = LoadConfig(line);
  const Terminal terminal =
      Terminal::Detect(ColorModeFrom(loaded.config.Get("general.color")), IsFromFlag(loaded.config, "general.color"));
  const Diagnostics diagnostics({.verbosity = line.verbosity(),
                                 .json = loaded.config.Get("general.log_format") == "json",
                                 .color = terminal.color_stderr});
  if (loaded.error && !parsed.entry->runs_without_config) return Report(*loaded.error, line.json(), out, diagnostics);
  for (const std::string& name : loaded.config.unknown_variables()) {
    if (!parsed.entry->hidden) diagnostics.Warn("unknown environment variable " + name + " is ignored");
  }
  Invocation in{.out = out,
                .diagnostics = diagnostics,
                .terminal = terminal,
                .config = std::move(loaded.config),
                .config_error = std::move(loaded.error),
                .config_path = line.config_path(),
                .json = line.json(),
                .app = line.app()};
  const Result<ExitCode> exit = parsed.command->Run(in);
  if (!exit) return Report(exit.error(), line.json(), out, diagnostics);
  if (const Status written = out.Finish(); !written) return Report(written.error(), false, out, diagnostics);
  return static_cast<int>(*exit);
}

}  // namespace

int Main(int argc, char** argv) {
  UseUtf8();
  InstallSignalHandlers();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  Output out(STDOUT_FILENO);
  CommandLine line;
  const Result<CommandLine::Parsed> parsed = line.Parse(words);
  if (!parsed) {
    const Diagnostics diagnostics({.color = Terminal::Detect(ColorMode::kAuto, false).color_stderr});
    return Report(parsed.error(), CommandLine::AsksForJson(words), out, diagnostics);
  }
  if (parsed->help || parsed->version) {
    if (parsed->help) out.Write(*parsed->help);
    if (parsed->version) PrintVersion(out, line.json());
    const Diagnostics diagnostics({.color = Terminal::Detect(ColorMode::kAuto, false).color_stderr});
    if (const Status written = out.Finish(); !written) return Report(written.error(), false, out, diagnostics);
    return static_cast<int>(ExitCode::kOk);
  }
  return RunCommand(line, *parsed, out);
}

}  // namespace quern::cli
