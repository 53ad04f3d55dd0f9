// quern doctor: what is wrong with this machine, this installation, this configuration.
#include "quern/doctor.h"

#include <cstdlib>
#include <cstring>

#include <langinfo.h>

#include "quern/version.h"

#include "cli/commands/entries.h"
#include "cli/json_text.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

using State = DoctorCheck::State;

constexpr int kNameColumns = 16;

std::string_view NameOf(State state) { return state == State::kOk ? "ok" : state == State::kWarn ? "warn" : "fail"; }

DoctorCheck CheckTerminal(const Terminal& terminal) {
  DoctorCheck check{.name = "terminal"};
  const bool utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  check.detail = fmt::format("{} columns, {}", Terminal::Width(), utf8 ? "UTF-8" : nl_langinfo(CODESET));
  if (terminal.stdout_is_terminal && terminal.is_dumb) {
    check.state = State::kWarn;
    check.remedy = "TERM is dumb or unset: no word wrap, no progress bar";
  }
  if (!utf8) {
    check.state = State::kWarn;
    check.remedy = "set LANG to a UTF-8 locale";
  }
  return check;
}

class Doctor final : public Command {
 public:
  void Configure(CLI::App& app, SettingFlags&) override {
    missing_.Add(app, {"--fix", "", "repairing; follow the remedies that are printed", false});
  }

  Result<ExitCode> Run(Invocation& in) override {
    QUERN_TRY(missing_.Check());
    std::vector<DoctorCheck> checks = RunDoctor(in.config, in.config_error, in.resolve_options());
    checks.push_back(CheckTerminal(in.terminal));
    bool failed = false;
    Json list = Json::array();
    for (const DoctorCheck& check : checks) {
      failed |= check.state == State::kFail;
      list.push_back(
          {{"name", check.name}, {"state", NameOf(check.state)}, {"detail", check.detail}, {"remedy", check.remedy}});
      if (!in.json) PrintCheck(in, check);
    }
    if (in.json) {
      const BuildInfo build = GetBuildInfo();
      in.out.Write(DumpPretty({{"schema", "quern.doctor/1"},
                               {"version", build.version},
                               {"commit", build.commit},
                               {"ok", !failed},
                               {"checks", std::move(list)}}) +
                   "\n");
    }
    return failed ? ExitCode::kError : ExitCode::kOk;
  }

 private:
  static void PrintCheck(Invocation& in, const DoctorCheck& check) {
    const std::string state = FitColumns(NameOf(check.state), 4);
    in.out.Print("{}  {}  {}\n", check.state == State::kFail ? Red(state, in.terminal.color_stdout) : state,
                 FitColumns(check.name, kNameColumns), Visible(check.detail));
    if (!check.remedy.empty()) in.out.Print("      {}  {}\n", std::string(kNameColumns, ' '), Visible(check.remedy));
  }

  MissingFlags missing_;
};

}  // namespace

CommandEntry DoctorCommand() {
  return {.name = "doctor",
          .summary = "Check the machine, the installation and the configuration",
          .examples = "  quern doctor\n  quern doctor --json",
          .runs_without_config = true,
          .make = [] { return std::unique_ptr<Command>(new Doctor); }};
}

}  // namespace quern::cli
