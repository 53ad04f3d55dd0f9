// Progress of one long operation on stderr. Bar: redrawn at most 10 times a second, fitted to the window. Plain: a line
// at 0 %, then every 10 % or 5 s (whichever is rarer), and at 100 %. Json: one object per event, as rarely as plain.
// Operations under half a second show nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quern/model.h"

namespace quern::cli {

enum class ProgressMode : uint8_t { kNone, kPlain, kBar, kJson };

// One line of at most `width` columns: name, stage, bar, percent, bytes or counts, rate of bytes and time left, least
// important dropped first. per_second < 0: not known.
std::string FormatBar(std::string_view name, const Progress& progress, double per_second, int width);
std::string FormatBytes(int64_t bytes);  // "1.5 GiB"

class ProgressDisplay {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    ProgressMode mode = ProgressMode::kNone;
    std::function<void(std::string_view)> write;  // to stderr
    std::function<int()> width;
    std::function<Clock::time_point()> now = Clock::now;  // replaced in tests
  };
  ProgressDisplay(std::string name, Options options);
  ~ProgressDisplay();  // leaves a clean line
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void Update(const Progress& progress);

 private:
  double Rate(Clock::time_point now, int64_t done);
  void ShowLine(const Progress& progress, Clock::time_point now);
  std::string name_;
  Options options_;
  Clock::time_point start_, last_shown_{}, window_start_;
  int64_t window_done_ = 0;
  std::string stage_;
  int last_percent_ = -1;
  bool shown_ = false, on_line_ = false, first_of_stage_ = true;
};

}  // namespace quern::cli
