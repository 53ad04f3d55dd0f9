#include "cli/exit_code.h"

namespace quern::cli {
namespace {

constexpr ExitCodeRow kRows[] = {
    {ExitCode::kOk, "ok", "success; also an interrupted chat turn followed by /bye"},
    {ExitCode::kError, "error", "anything not below"},
    {ExitCode::kUsage, "usage", "unknown flag or command, bad value, unknown configuration key"},
    {ExitCode::kNotFound, "not_found", "model, file, alias, revision or variant not found"},
    {ExitCode::kNetwork, "network", "connection, TLS, time limit, HTTP 5xx or 429 after retries"},
    {ExitCode::kIntegrity, "integrity", "checksum mismatch, truncated or malformed file, inconsistent metadata"},
    {ExitCode::kResources, "resources",
     "does not fit the memory budget or the context, disk full, too many open files"},
    {ExitCode::kUnsupported, "unsupported", "architecture, quantisation, device or combination of features"},
    {ExitCode::kGateFailed, "gate_failed", "bench --require and other gates that said no"},
    {ExitCode::kBusy, "busy", "a lock is held by another process, a port is in use"},
    {ExitCode::kAuth, "auth", "HTTP 401 or 403, gated repository, missing token"},
    {ExitCode::kRemote, "remote", "a server answered with an error other than the above"},
    {ExitCode::kHangup, "hangup", "ended by SIGHUP"},
    {ExitCode::kInterrupted, "interrupted", "ended by SIGINT (Ctrl-C)"},
    {ExitCode::kClosedOutput, "closed_output", "the reader of the output went away (quern ... | head)"},
    {ExitCode::kTerminated, "terminated", "ended by SIGTERM"},
};

}  // namespace

std::span<const ExitCodeRow> ExitCodes() { return kRows; }

std::string_view NameOf(ExitCode code) {
  for (const ExitCodeRow& row : kRows) {
    if (row.code == code) return row.name;
  }
  return "error";
}

ExitCode ExitCodeFor(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return ExitCode::kUsage;
    case Code::kNotFound:
      return ExitCode::kNotFound;
    case Code::kCorrupt:
      return ExitCode::kIntegrity;
    case Code::kUnsupported:
      return ExitCode::kUnsupported;
    case Code::kFailedPrecondition:
      return ExitCode::kGateFailed;
    case Code::kResourceExhausted:
      return ExitCode::kResources;
    case Code::kCancelled:
      return ExitCode::kInterrupted;
    case Code::kDeadline:
      return ExitCode::kNetwork;
    case Code::kUnavailable:
      return ExitCode::kBusy;
    case Code::kInternal:
      return ExitCode::kError;
  }
  return ExitCode::kError;
}

}  // namespace quern::cli
