// Standard error: notices, warnings, errors. Never a result. As text or, with --log-format json, one object per line.
#pragma once

#include <string_view>

#include "cli/status.h"
#include "cli/terminal/terminal.h"

namespace quern::cli {

enum class Verbosity : int { kQuiet = -1, kNormal = 0, kVerbose = 1 };

class Diagnostics {
 public:
  struct Options {
    Verbosity verbosity = Verbosity::kNormal;
    bool json = false;
    bool color = false;
  };
  explicit Diagnostics(Options options) : options_(options) {}

  void Detail(std::string_view text) const;  // with -v
  void Notice(std::string_view text) const;  // dim; not with -q
  void Warn(std::string_view text) const;    // not with -q
  void ShowError(const Error& error) const;  // always
  // As it is: prompts, statistics, progress.
  void Raw(std::string_view text) const;

  bool quiet() const { return options_.verbosity == Verbosity::kQuiet; }
  bool json() const { return options_.json; }
  bool color() const { return options_.color; }

 private:
  void Line(std::string_view level, std::string_view text, std::string_view shown) const;
  Options options_;
};

}  // namespace quern::cli
