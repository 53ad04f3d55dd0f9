// A team of threads that runs one function on all its members and waits: fork and join, nothing else.
//
// Why not a task scheduler: a decode step is some 300 small parallel regions per token on two to a few dozen cores.
// Members spin for a bounded time between regions (a futex wake costs more than most regions), then sleep.
// Work is cut by the caller in a fixed way by member index, so results never depend on who was faster.
// One thread at a time may call Run; the team must outlive the call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace quern {

class ThreadTeam {
 public:
  // num_threads counts the caller: 1 starts no thread. At least 1. size() is less where the system refuses threads.
  explicit ThreadTeam(int num_threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls body(member) for member 0..size()-1, member 0 on the calling thread. body must not throw.
  template <typename Body>
  void Run(const Body& body) {
    if (threads_.empty()) {
      body(0);
      return;
    }
    RunErased([](const void* context, int member) { (*static_cast<const Body*>(context))(member); }, &body);
  }

  // Cuts [0, count) into contiguous parts, one per member, each a multiple of `grain` >= 1 (but the last), and calls
  // body(begin, end) for those that are not empty.
  template <typename Body>
  void For(int64_t count, int64_t grain, const Body& body) {
    const int64_t units = (count + grain - 1) / grain;
    if (units <= 1 || threads_.empty()) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    Run([&](int member) {
      const int64_t begin = units * member / size() * grain;
      const int64_t end = std::min(count, units * (member + 1) / size() * grain);
      if (begin < end) body(begin, end);
    });
  }

 private:
  using Erased = void (*)(const void* context, int member);
  void RunErased(Erased function, const void* context);
  void Work(int member);

  std::vector<std::thread> threads_;
  std::atomic<uint32_t> generation_{0};  // raised once per region: the start signal
  std::atomic<int> pending_{0};          // members that have not finished the region
  std::atomic<bool> stopping_{false};
  Erased function_ = nullptr;
  const void* context_ = nullptr;
};

}  // namespace quern
