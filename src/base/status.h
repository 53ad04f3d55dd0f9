// Making and passing on errors: formatted makers and the two macros of the house.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "quern/error.h"

namespace quern {

template <typename... Args>
tl::unexpected<Error> Fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(code, fmt::format(format, std::forward<Args>(args)...));
}

// Adds what to do about it: return WithHint(Fail(...), "raise --ctx").
inline tl::unexpected<Error> WithHint(tl::unexpected<Error> failure, std::string hint) {
  failure.value().hint = std::move(hint);
  return failure;
}

// Adds a frame of context where an error crosses a room: "loading blk.3.attn_q.weight".
inline tl::unexpected<Error> WithFrame(Error error, std::string frame) {
  error.frames.push_back(std::move(frame));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace quern

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
