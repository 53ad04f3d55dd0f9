// Making and passing on errors in the command line: the public Error with the macros of the house. The command line
// does not see the engine's own headers, so it has its own few lines.
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

inline tl::unexpected<Error> WithHint(tl::unexpected<Error> failure, std::string hint) {
  failure.value().hint = std::move(hint);
  return failure;
}

}  // namespace quern::cli

#define QUERN_CONCAT_INNER_(a, b) a##b
#define QUERN_CONCAT_(a, b) QUERN_CONCAT_INNER_(a, b)

// Returns the error of a Status or Result expression, if it has one.
#define QUERN_TRY(expr)                                                          \
  do {                                                                           \
    auto quern_status_ = (expr);                                                 \
    if (!quern_status_) return tl::unexpected(std::move(quern_status_).error()); \
  } while (false)

// QUERN_ASSIGN_OR_RETURN(auto x, F()): x gets the value, or the error is returned.
#define QUERN_ASSIGN_OR_RETURN(lhs, expr) \
  QUERN_ASSIGN_OR_RETURN_IMPL_(QUERN_CONCAT_(quern_result_, __LINE__), lhs, expr)
#define QUERN_ASSIGN_OR_RETURN_IMPL_(result, lhs, expr)          \
  auto result = (expr);                                          \
  if (!result) return tl::unexpected(std::move(result).error()); \
  lhs = std::move(*result)
