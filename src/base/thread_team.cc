#include "base/thread_team.h"

#include "base/check.h"

namespace quern {
namespace {

// About 20 to 50 us of spinning: longer than the gap between two regions of a step, shorter than anyone notices.
constexpr int kSpins = 4000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(int num_threads) {
  QUERN_CHECK(num_threads >= 1);
  for (int member = 1; member < num_threads; ++member) threads_.emplace_back([this, member] { Work(member); });
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
  for (int spins = 0;; ++spins) {
    const int pending = pending_.load(std::memory_order_acquire);
    if (pending == 0) return;
    if (spins < kSpins) {
      Pause();
    } else {
      pending_.wait(pending, std::memory_order_acquire);
    }
  }
}

void ThreadTeam::Work(int member) {
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < kSpins) {
        Pause();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stopping_.load(std::memory_order_relaxed)) return;
    function_(context_, member);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace quern
