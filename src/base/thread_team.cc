#include "base/thread_team.h"

#include <chrono>
#include <system_error>

#include "base/check.h"

namespace quern {
namespace {

// Longer than the gap between two regions of a step, shorter than anyone notices. Measured in time, since a pause
// instruction takes 10 cycles on some processors and 140 on others.
constexpr std::chrono::microseconds kSpinTime{50};
constexpr int kPausesPerLook = 64;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins while `waiting()` holds, at most kSpinTime; false when the time is up and it still holds.
template <typename Waiting>
bool SpinWhile(const Waiting& waiting) {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int pause = 0; pause < kPausesPerLook; ++pause) {
      if (!waiting()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

ThreadTeam::ThreadTeam(int num_threads) {
  QUERN_CHECK(num_threads >= 1);
  try {
    threads_.reserve(static_cast<size_t>(num_threads) - 1);
    for (int member = 1; member < num_threads; ++member) threads_.emplace_back([this, member] { Work(member); });
  } catch (const std::system_error&) {
    // The system's limit of threads is reached: a smaller team does the same work.
  }
}

ThreadTeam::~ThreadTeam() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::RunErased(Erased function, const void* context) {
  function_ = function;
  context_ = context;
  pending_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  function(context, 0);
  if (SpinWhile([&] { return pending_.load(std::memory_order_acquire) != 0; })) return;
  for (int pending; (pending = pending_.load(std::memory_order_acquire)) != 0;) {
    pending_.wait(pending, std::memory_order_acquire);
  }
}

void ThreadTeam::Work(int member) {
  uint32_t seen = 0;
  for (;;) {
    const bool started = SpinWhile([&] { return generation_.load(std::memory_order_acquire) == seen; });
    if (!started) generation_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (stopping_.load(std::memory_order_relaxed)) return;
    function_(context_, member);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace quern
