#include "runtime/session/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace quern::runtime {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopMatcher::Push(std::string_view text) {
  if (matched_) return {};
  pending_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = pending_.find(stop);
    if (at < first) {
      first = at;
      matched_ = stop;
    }
  }
  if (matched_) return std::exchange(pending_, {}).substr(0, first);

  // The longest end of the text that begins a stop string stays.
  size_t held = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, pending_.size()); length > held; --length) {
      if (std::string_view(pending_).ends_with(std::string_view(stop).substr(0, length))) held = length;
    }
  }
  std::string ready = pending_.substr(0, pending_.size() - held);
  pending_.erase(0, ready.size());
  return ready;
}

std::string StopMatcher::Flush() { return std::exchange(pending_, {}); }

}  // namespace quern::runtime
