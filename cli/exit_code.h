// Exit codes of the program: the one table behind the process status, the JSON errors and `quern help exit-codes`.
#pragma once

#include <span>
#include <string_view>

#include "quern/error.h"

namespace quern::cli {

enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,
  kNotFound = 3,
  kNetwork = 4,
  kIntegrity = 5,
  kResources = 6,
  kUnsupported = 7,
  kGateFailed = 8,
  kBusy = 9,
  kAuth = 10,
  kRemote = 11,
  kHangup = 129,
  kInterrupted = 130,
  kClosedOutput = 141,
  kTerminated = 143,
};

struct ExitCodeRow {
  ExitCode code;
  std::string_view name;  // in JSON errors
  std::string_view when;
};
std::span<const ExitCodeRow> ExitCodes();

std::string_view NameOf(ExitCode code);
ExitCode ExitCodeFor(Code code);

}  // namespace quern::cli
