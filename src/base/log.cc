#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/json.h"

namespace quern {
namespace {

// The flag %*: the message as a JSON string, quotes included. Messages carry prompts, paths and text from files, so
// they are escaped, and bytes that are not UTF-8 become U+FFFD.
class JsonMessageFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const Json text(std::string(message.payload.data(), message.payload.size()));
    const std::string escaped = text.dump(-1, ' ', false, Json::error_handler_t::replace);
    out.append(escaped.data(), escaped.data() + escaped.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessageFlag>(); }
};

}  // namespace

std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  if (format == LogFormat::kJson) {
    formatter->add_flag<JsonMessageFlag>('*');
    formatter->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%*})");
  } else {
    formatter->set_pattern("quern: %l: %v");
  }
  return formatter;
}

void InitLog(spdlog::level::level_enum level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("quern", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(level);
  logger->set_formatter(MakeLogFormatter(format));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace quern
