// Error, Result and Status: how every part of quern, inside and outside, reports that something went wrong.
//
// Nothing throws. A function that can fail because of a file, a flag, a prompt or a request returns Result<T>;
// QUERN_CHECK (src/base/check.h) aborts and is for programmer errors only. Error is a value: copy it, move it, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace quern {

// A small closed list. One table maps it to exit codes (cli/exit_code.h), one to HTTP statuses.
enum class Code : uint8_t {
  kInvalidArgument,     // a flag, a key, a request field: the caller can mend it
  kNotFound,            // no such model, file, alias, tensor
  kCorrupt,             // a file that is truncated, malformed or contradicts itself
  kUnsupported,         // understood, but not something this build can run
  kFailedPrecondition,  // a gate or an evidence check said no
  kResourceExhausted,   // memory budget, context, disk, file descriptors
  kCancelled,           // the caller asked to stop
  kDeadline,            // a time limit passed
  kUnavailable,         // busy: a lock, a port, a device that is lost
  kInternal,            // a fault of quern itself
};

// "invalid_argument", "not_found", ...: stable, used in logs and in JSON.
std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;              // the offending value, the limit, what is wrong
  std::string hint;                 // what to change; may be empty
  std::vector<std::string> frames;  // context added on the way up, innermost first: "loading blk.3.attn_q.weight"

  // "frame: frame: message (hint)", outermost frame first.
  std::string ToString() const;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> MakeError(Code code, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint), {}});
}

// Adds what to do about it: return WithHint(Fail(...), "raise --ctx").
inline tl::unexpected<Error> WithHint(tl::unexpected<Error> failure, std::string hint) {
  failure.value().hint = std::move(hint);
  return failure;
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
