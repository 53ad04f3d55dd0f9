// Ctrl-C and termination. The handlers do only what is safe in a signal handler: they set atomic flags or call _exit.
//
// Outside every scope SIGINT ends the process with 130, except in a conversation. Inside a StopScope the first SIGINT
// asks for a stop and the second ends the process. Inside a PromptScope it only marks the line as interrupted. One
// scope at a time, main thread only.
#pragma once

#include <atomic>

namespace quern::cli {

// Installs the handlers of SIGINT and ignores SIGPIPE (a closed output is noticed by its writer).
void InstallSignalHandlers();
// For a conversation: SIGTERM and SIGHUP ask for a stop instead of ending the process, so that the session can be
// saved, and SIGINT outside every scope (between an answer and the next prompt) is ignored by a reader that begins
// after it.
void HandleTermination();

class StopScope {
 public:
  StopScope();
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
};

class PromptScope {
 public:
  PromptScope();
  ~PromptScope();
  PromptScope(const PromptScope&) = delete;
  PromptScope& operator=(const PromptScope&) = delete;
};

// The flag that StopScope and termination set; goes into GenerateRequest::cancel.
const std::atomic<bool>& StopRequested();
// Whether SIGINT arrived in the current PromptScope; reading clears it.
bool TakePromptInterrupt();
// The signal that asked the process to end, or 0.
int TerminationSignal();
// Whether the process was continued (fg) or the window changed since the last call; reading clears it.
bool TakeContinued();
bool TakeResized();

}  // namespace quern::cli
