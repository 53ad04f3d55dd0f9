// The logging front: one logger on stderr. Results never go through it.
#pragma once

#include <memory>

#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>

namespace quern {

enum class LogFormat { kText, kJson };

// Called once by the program, before anything is logged: until then spdlog's own default applies, which writes to
// stdout.
void InitLog(spdlog::level::level_enum level, LogFormat format);

// One line per message: "quern: warning: text", or an object with time, level and message. Used by InitLog.
std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format);

}  // namespace quern
