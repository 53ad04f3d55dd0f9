#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

namespace quern {

void InitLog(spdlog::level::level_enum level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("quern", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(level);
  logger->set_pattern(format == LogFormat::kJson ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})"
                                                 : "quern: %l: %v");
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace quern
