#include "text/stream_decoder.h"

#include "text/utf8.h"

namespace quern::text {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string StreamDecoder::Push(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::move(pending_).append(bytes);
    pending_.clear();
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextUtf8(bytes);
    if (step.state == Utf8State::kIncomplete) {
      pending_ = bytes;
      break;
    }
    out.append(step.state == Utf8State::kComplete ? bytes.substr(0, step.length) : kReplacement);
    bytes.remove_prefix(step.length);
  }
  return out;
}

std::string StreamDecoder::Flush() {
  if (pending_.empty()) return {};
  pending_.clear();
  return std::string(kReplacement);
}

std::string RepairUtf8(std::string_view bytes) {
  StreamDecoder decoder;
  std::string out = decoder.Push(bytes);
  return out += decoder.Flush();
}

}  // namespace quern::text
