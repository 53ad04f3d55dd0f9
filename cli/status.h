// Making errors in the command line. It sees the public headers only, and those are free of fmt: hence its own Fail.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "quern/error.h"

namespace quern::cli {

template <typename... Args>
tl::unexpected<Error> Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quern::cli
