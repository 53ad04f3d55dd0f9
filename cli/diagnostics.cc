#include "cli/diagnostics.h"

#include <cerrno>

#include <unistd.h>

#include "cli/json_text.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {

void Diagnostics::Raw(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // nowhere left to report it
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

void Diagnostics::Line(std::string_view level, std::string_view text, std::string_view shown) const {
  Raw(options_.json ? Dump({{"level", level}, {"message", text}}) + "\n" : std::string(shown) + "\n");
}

void Diagnostics::Detail(std::string_view text) const {
  if (options_.verbosity == Verbosity::kVerbose) Line("debug", text, Dim(Visible(text), options_.color));
}
void Diagnostics::Notice(std::string_view text) const {
  if (!quiet()) Line("info", text, Dim(Visible(text), options_.color));
}
void Diagnostics::Warn(std::string_view text) const {
  if (!quiet()) Line("warning", text, "warning: " + Visible(text));
}

void Diagnostics::ShowError(const Error& error) const {
  Error without_hint = error;
  without_hint.hint.clear();
  const std::string message = without_hint.ToString();
  if (options_.json) {
    Raw(Dump({{"level", "error"}, {"message", message}, {"hint", error.hint}}) + "\n");
    return;
  }
  Raw(Red("error:", options_.color) + " " + Visible(message) + "\n");
  if (!error.hint.empty()) Raw("  " + Visible(error.hint) + "\n");
}

}  // namespace quern::cli
