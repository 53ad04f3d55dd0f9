// QUERN_CHECK aborts with file, line and message. Programmer errors only: if bytes from a file, a request,
// a flag or a prompt can make the condition false, it must be a Status instead.
#pragma once

namespace quern {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}

#define QUERN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::quern::CheckFailed(__FILE__, __LINE__, #condition))
#ifdef NDEBUG
#define QUERN_DCHECK(condition) static_cast<void>(0)
#else
#define QUERN_DCHECK(condition) QUERN_CHECK(condition)
#endif
