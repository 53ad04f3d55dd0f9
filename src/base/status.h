// Making errors, and adding context to them.
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

// Adds a frame of context where an error crosses a room: "loading blk.3.attn_q.weight".
inline tl::unexpected<Error> WithFrame(Error error, std::string frame) {
  error.frames.push_back(std::move(frame));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace quern
