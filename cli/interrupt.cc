#include "cli/interrupt.h"

#include <csignal>

#include <unistd.h>

#include "cli/exit_code.h"

namespace quern::cli {
namespace {

enum class Mode : int { kEnd, kStop, kPrompt };

std::atomic<Mode> g_mode{Mode::kEnd}, g_outside{Mode::kEnd};  // g_outside: in no scope
std::atomic<bool> g_stop{false}, g_prompt_interrupted{false}, g_continued{false}, g_resized{false};
std::atomic<int> g_termination{0};
static_assert(std::atomic<Mode>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<int>::is_always_lock_free,
              "the handlers may touch only lock-free atomics");

void OnInterrupt(int) {
  switch (g_mode.load()) {
    case Mode::kEnd:
      _exit(static_cast<int>(ExitCode::kInterrupted));
    case Mode::kStop:
      if (g_stop.exchange(true)) _exit(static_cast<int>(ExitCode::kInterrupted));
      break;
    case Mode::kPrompt:
      g_prompt_interrupted = true;
      break;
  }
}

void OnTermination(int signal) {
  g_termination = signal;
  g_stop = true;
}

void OnContinue(int) { g_continued = true; }
void OnResize(int) { g_resized = true; }

// Without SA_RESTART: a read that waits for the user must return.
void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void InstallSignalHandlers() {
  Handle(SIGINT, OnInterrupt);
  Handle(SIGPIPE, SIG_IGN);
  Handle(SIGXFSZ, SIG_IGN);  // a file that may not grow is a failed write: reported, and the half file removed
}

void HandleTermination() {
  g_outside = g_mode = Mode::kPrompt;
  Handle(SIGTERM, OnTermination);
  Handle(SIGHUP, OnTermination);
  Handle(SIGCONT, OnContinue);
  Handle(SIGWINCH, OnResize);
}

StopScope::StopScope() {
  g_stop = g_termination.load() != 0;
  g_mode = Mode::kStop;
}
StopScope::~StopScope() { g_mode = g_outside.load(); }

PromptScope::PromptScope() {
  g_prompt_interrupted = false;
  g_mode = Mode::kPrompt;
}
PromptScope::~PromptScope() { g_mode = g_outside.load(); }

const std::atomic<bool>& StopRequested() { return g_stop; }
bool TakePromptInterrupt() { return g_prompt_interrupted.exchange(false); }
int TerminationSignal() { return g_termination; }
bool TakeContinued() { return g_continued.exchange(false); }
bool TakeResized() { return g_resized.exchange(false); }

}  // namespace quern::cli
