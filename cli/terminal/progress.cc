#include "cli/terminal/progress.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cli/json_text.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

using std::chrono::duration;
constexpr std::chrono::milliseconds kQuietTime{500}, kRedraw{100};
constexpr std::chrono::seconds kPlainInterval{5}, kRateWindow{5};
constexpr int kPlainPercent = 10;

int Percent(const Progress& progress) {
  if (progress.total <= 0) return 0;
  return static_cast<int>(std::clamp<int64_t>(progress.done, 0, progress.total) * 100.0 /
                          static_cast<double>(progress.total));
}

std::string FormatEta(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return whole >= 60 ? fmt::format("{}m{:02}s", whole / 60, whole % 60) : fmt::format("{}s", whole);
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatBar(std::string_view name, const Progress& progress, double per_second, int width) {
  const bool bytes = progress.unit.empty();
  const auto amount = [&](int64_t n) { return bytes ? FormatBytes(n) : fmt::format("{}", n); };
  std::string label = fmt::format("{} {}", name, progress.stage);
  std::string numbers = amount(progress.done);
  if (progress.total > 0) {
    numbers = fmt::format("{:3}% {}/{}", Percent(progress), numbers, amount(progress.total));
  }
  if (!bytes) numbers += fmt::format(" {}", progress.unit);
  std::string tail;
  if (per_second > 0) {
    if (bytes) tail = fmt::format(" {}/s", FormatBytes(static_cast<int64_t>(per_second)));
    if (progress.total > progress.done) {
      tail += " " + FormatEta(static_cast<double>(progress.total - progress.done) / per_second);
    }
  }
  constexpr int kLabelColumns = 16, kSmallestBar = 8, kLargestBar = 40;
  const auto columns = [](const std::string& text) { return DisplayWidth(text); };
  if (kLabelColumns + 1 + columns(numbers) + columns(tail) > width) tail.clear();
  int bar = std::min(width - kLabelColumns - columns(numbers) - columns(tail) - 4, kLargestBar);
  std::string line = FitColumns(label, kLabelColumns) + " ";
  if (progress.total > 0 && bar >= kSmallestBar) {
    const int filled = bar * Percent(progress) / 100;
    line += "[" + std::string(static_cast<size_t>(filled), '#') + std::string(static_cast<size_t>(bar - filled), '.') +
            "] ";
  }
  line += numbers + tail;
  if (DisplayWidth(line) <= width) return line;
  return FitColumns(line, width);
}

ProgressDisplay::ProgressDisplay(std::string name, Options options)
    : name_(std::move(name)), options_(std::move(options)), start_(options_.now()), window_start_(start_) {}

ProgressDisplay::~ProgressDisplay() {
  if (on_line_) options_.write("\r\x1b[K");
}

double ProgressDisplay::Rate(Clock::time_point now, int64_t done) {
  const double seconds = duration<double>(now - window_start_).count();
  const double rate = seconds > 0.2 ? static_cast<double>(done - window_done_) / seconds : -1;
  if (now - window_start_ >= kRateWindow) {
    window_start_ = now;
    window_done_ = done;
  }
  return rate;
}

void ProgressDisplay::ShowLine(const Progress& progress, Clock::time_point now) {
  if (options_.mode == ProgressMode::kJson) {
    options_.write(Dump({{"type", "progress"},
                         {"name", name_},
                         {"stage", progress.stage},
                         {"done", progress.done},
                         {"total", progress.total},
                         {"unit", progress.unit.empty() ? "bytes" : progress.unit}}) +
                   "\n");
  } else {
    options_.write(FormatBar(name_, progress, Rate(now, progress.done), 100) + "\n");
  }
}

void ProgressDisplay::Update(const Progress& progress) {
  if (options_.mode == ProgressMode::kNone) return;
  const Clock::time_point now = options_.now();
  if (stage_ != progress.stage) {
    stage_ = progress.stage;
    window_start_ = now;
    window_done_ = progress.done;
    first_of_stage_ = true;
    last_percent_ = -1;
  }
  if (now - start_ < kQuietTime) return;
  const int percent = Percent(progress);
  if (options_.mode == ProgressMode::kBar) {
    if (shown_ && now - last_shown_ < kRedraw) return;
    options_.write("\r\x1b[K" + FormatBar(name_, progress, Rate(now, progress.done), options_.width() - 1));
    on_line_ = true;
  } else {
    const bool ended = percent == 100 && last_percent_ != 100;
    const bool due = now - last_shown_ >= kPlainInterval && percent >= last_percent_ + kPlainPercent;
    if (!first_of_stage_ && !ended && !due) return;
    ShowLine(progress, now);
    first_of_stage_ = false;
    last_percent_ = percent;
  }
  shown_ = true;
  last_shown_ = now;
}

}  // namespace quern::cli
