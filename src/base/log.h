// The logging front: one logger on stderr. Results never go through it.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

namespace quern {

enum class LogFormat { kText, kJson };

// Called once by the program before anything is logged; the library itself is silent at level warn and below otherwise.
void InitLog(spdlog::level::level_enum level, LogFormat format);

}  // namespace quern
