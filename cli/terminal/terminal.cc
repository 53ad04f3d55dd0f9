#include "cli/terminal/terminal.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace quern::cli {
namespace {

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string Styled(std::string_view code, std::string_view text, bool on) {
  if (!on) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

bool WantsColor(const ColorInputs& inputs) {
  if (inputs.mode == ColorMode::kNever) return false;
  if (inputs.mode == ColorMode::kAlways && inputs.mode_is_flag) return true;
  if (!inputs.no_color.empty() || inputs.term == "dumb") return false;
  if (inputs.mode == ColorMode::kAlways) return true;
  if (!inputs.clicolor_force.empty() && inputs.clicolor_force != "0") return true;
  return inputs.is_terminal;
}

Terminal Terminal::Detect(ColorMode mode, bool mode_is_flag) {
  Terminal terminal;
  terminal.stdin_is_terminal = isatty(STDIN_FILENO) != 0;
  terminal.stdout_is_terminal = isatty(STDOUT_FILENO) != 0;
  terminal.stderr_is_terminal = isatty(STDERR_FILENO) != 0;
  const std::string_view term = Variable("TERM");
  terminal.is_dumb = term.empty() || term == "dumb";
  ColorInputs inputs{mode, mode_is_flag, Variable("NO_COLOR"), Variable("CLICOLOR_FORCE"), term, false};
  inputs.is_terminal = terminal.stdout_is_terminal;
  terminal.color_stdout = WantsColor(inputs);
  inputs.is_terminal = terminal.stderr_is_terminal;
  terminal.color_stderr = WantsColor(inputs);
  return terminal;
}

int Terminal::Width() {
  constexpr int kNarrowest = 20, kUnknown = 80;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    winsize size = {};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::max<int>(size.ws_col, kNarrowest);
  }
  const int columns = std::atoi(std::string(Variable("COLUMNS")).c_str());
  return columns > 0 ? std::max(columns, kNarrowest) : kUnknown;
}

std::string Dim(std::string_view text, bool on) { return Styled("2", text, on); }
std::string Bold(std::string_view text, bool on) { return Styled("1", text, on); }
std::string Red(std::string_view text, bool on) { return Styled("31", text, on); }

}  // namespace quern::cli
