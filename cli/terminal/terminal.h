// What is known about the three standard streams: terminals or not, width, colour. Values read once; width is asked
// again on every call since windows are resized.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::cli {

enum class ColorMode : uint8_t { kAuto, kAlways, kNever };

// Everything that decides about colour, so that the rule can be tested.
struct ColorInputs {
  ColorMode mode = ColorMode::kAuto;
  bool mode_is_flag = false;  // --color was on the command line
  std::string_view no_color, clicolor_force, term;
  bool is_terminal = false;
};
bool WantsColor(const ColorInputs& inputs);

class Terminal {
 public:
  // Reads the environment and the streams.
  static Terminal Detect(ColorMode mode, bool mode_is_flag);

  bool stdin_is_terminal = false, stdout_is_terminal = false, stderr_is_terminal = false;
  bool is_dumb = false;  // TERM is "dumb" or unset: no cursor movement
  bool color_stdout = false, color_stderr = false;

  // Columns: of the window of stdout or stderr, else COLUMNS, else 80. At least 20.
  static int Width();
};

// Wraps text in a style when `on`.
std::string Dim(std::string_view text, bool on);
std::string Bold(std::string_view text, bool on);
std::string Red(std::string_view text, bool on);

}  // namespace quern::cli
