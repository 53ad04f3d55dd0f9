#include "tests/emulator/emulator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <dlfcn.h>

#include "base/check.h"
#include "tests/emulator/qk_cuda_host.h"

namespace quern::emulator {
namespace {

namespace context = boost::context;

constexpr uint32_t kLanes = 32, kMaxWords = 16;
constexpr size_t kStackBytes = 64 * 1024;

struct Copy {
  char* shared;
  const char* global;  // null: zeros
};

struct Thread {
  enum class State : uint8_t { kRunnable, kAtBarrier, kInWarp, kDone };
  context::fiber fiber;      // the thread's own continuation while it is suspended
  context::fiber scheduler;  // where to go back to
  State state = State::kRunnable;
  qk_operation operation = QK_OP_SYNC;
  uint32_t meetings = 0;  // its parity chooses the slots, so that two operations in a row cannot mix
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;
};

class BlockRun {
 public:
  BlockRun(const EmulatedKernel& kernel, const qk_args& args, uint32_t block, uint32_t grid, Order order, uint64_t seed)
      : kernel_(kernel),
        args_(args),
        block_(block),
        grid_(grid),
        order_(order),
        random_(seed + block),
        threads_(kernel.threads),
        shared_(kernel.shared_bytes + 64),
        slots_(kernel.threads / kLanes) {
    std::memset(shared_.data(), 0xA5, shared_.size());
    for (uint32_t t = 0; t < kernel.threads; ++t) {
      threads_[t].fiber = context::fiber(std::allocator_arg, context::fixedsize_stack(kStackBytes),
                                         [this, t](context::fiber&& scheduler) {
                                           threads_[t].scheduler = std::move(scheduler);
                                           kernel_.entry(args_);
                                           threads_[t].state = Thread::State::kDone;
                                           return std::move(threads_[t].scheduler);
                                         });
    }
  }

  Status Run();

  uint32_t block() const { return block_; }
  uint32_t grid() const { return grid_; }
  uint32_t current() const { return current_; }
  char* shared() {
    const auto address = reinterpret_cast<uintptr_t>(shared_.data());
    return shared_.data() + (16 - address % 16) % 16;
  }
  Thread& thread() { return threads_[current_]; }
  void Wait(Thread::State state) {
    thread().state = state;
    const uint32_t self = current_;
    threads_[self].scheduler = std::move(threads_[self].scheduler).resume();
    current_ = self;
  }
  uint32_t* Slot(uint32_t warp, uint32_t parity) { return slots_[warp][parity].data(); }

 private:
  // Lets waiting threads go on where all have come. False when nothing could be released.
  bool Release();
  Status Stuck() const;

  const EmulatedKernel& kernel_;
  const qk_args& args_;
  uint32_t block_, grid_, current_ = 0;
  Order order_;
  std::mt19937_64 random_;
  std::vector<Thread> threads_;
  std::vector<char> shared_;
  std::vector<std::array<std::array<uint32_t, kLanes * kMaxWords>, 2>> slots_;
};

BlockRun* g_run = nullptr;  // the block that runs on this process thread; launches do not nest

Status BlockRun::Run() {
  std::vector<uint32_t> order(threads_.size());
  for (uint32_t t = 0; t < order.size(); ++t)
    order[t] = order_ == Order::kReverse ? static_cast<uint32_t>(order.size()) - 1 - t : t;
  while (true) {
    if (order_ == Order::kRandom) std::shuffle(order.begin(), order.end(), random_);
    for (const uint32_t t : order) {
      if (threads_[t].state != Thread::State::kRunnable) continue;
      current_ = t;
      context::fiber after = std::move(threads_[t].fiber).resume();
      if (threads_[t].state != Thread::State::kDone) threads_[t].fiber = std::move(after);
    }
    if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.state == Thread::State::kDone; }))
      return {};
    if (!Release()) return Stuck();
  }
}

bool BlockRun::Release() {
  bool released = false;
  for (uint32_t first = 0; first < threads_.size(); first += kLanes) {
    const auto begin = threads_.begin() + first, end = begin + kLanes;
    const bool met = std::all_of(begin, end, [&](const Thread& t) {
      return t.state == Thread::State::kInWarp && t.operation == begin->operation && t.meetings == begin->meetings;
    });
    if (!met) continue;
    std::for_each(begin, end, [](Thread& t) { t.state = Thread::State::kRunnable; });
    released = true;
  }
  if (std::all_of(threads_.begin(), threads_.end(),
                  [](const Thread& t) { return t.state == Thread::State::kAtBarrier; })) {
    for (Thread& t : threads_) t.state = Thread::State::kRunnable;
    released = true;
  }
  return released;
}

Status BlockRun::Stuck() const {
  const auto count = [&](Thread::State s) {
    return std::count_if(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.state == s; });
  };
  const auto waiting =
      std::find_if(threads_.begin(), threads_.end(), [](const Thread& t) { return t.state != Thread::State::kDone; });
  return Fail(Code::kFailedPrecondition,
              "block {}: thread {} waits for ever: {} threads at a barrier, {} in a warp operation, {} ended", block_,
              waiting - threads_.begin(), count(Thread::State::kAtBarrier), count(Thread::State::kInWarp),
              count(Thread::State::kDone));
}

}  // namespace

Result<EmulatedKernel> Find(const char* symbol, uint32_t threads, uint32_t shared_bytes) {
  void* entry = dlsym(RTLD_DEFAULT, symbol);
  if (entry == nullptr) return Fail(Code::kNotFound, "no emulated text defines {}", symbol);
  return EmulatedKernel{reinterpret_cast<void (*)(qk_args)>(entry), threads, shared_bytes};
}

Status Launch(const EmulatedKernel& kernel, const qk_args& args, uint32_t grid, Order order, uint64_t seed) {
  QUERN_CHECK(g_run == nullptr && kernel.threads % kLanes == 0);
  for (uint32_t block = 0; block < grid; ++block) {
    BlockRun run(kernel, args, block, grid, order, seed);
    g_run = &run;
    const Status status = run.Run();
    g_run = nullptr;
    if (!status) return status;
  }
  return {};
}

}  // namespace quern::emulator

using quern::emulator::g_run;

qk_u32 qk_emulated_thread() { return g_run->current(); }
qk_u32 qk_emulated_block() { return g_run->block(); }
qk_u32 qk_emulated_grid() { return g_run->grid(); }
char* qk_emulated_shared() { return g_run->shared(); }
void qk_emulated_barrier() { g_run->Wait(quern::emulator::Thread::State::kAtBarrier); }

const qk_u32* qk_emulated_meet(qk_operation operation, const qk_u32* words, qk_u32 count) {
  using namespace quern::emulator;  // NOLINT: the other half of this file
  const qk_u32 thread = g_run->current();
  Thread& self = g_run->thread();
  qk_u32* slot = g_run->Slot(thread / kLanes, self.meetings % 2);
  if (count != 0) std::memcpy(slot + (thread % kLanes) * kMaxWords, words, count * sizeof(qk_u32));
  self.operation = operation;
  ++self.meetings;
  g_run->Wait(Thread::State::kInWarp);
  return slot;
}

void qk_emulated_copy(char* shared, const char* global, bool allowed) {
  g_run->thread().open.push_back({shared, allowed ? global : nullptr});
}
void qk_emulated_commit() { g_run->thread().groups.push_back(std::exchange(g_run->thread().open, {})); }
void qk_emulated_wait(qk_u32 pending) {
  auto& groups = g_run->thread().groups;
  for (; groups.size() > pending; groups.pop_front()) {
    for (const quern::emulator::Copy& copy : groups.front()) {
      copy.global == nullptr ? std::memset(copy.shared, 0, 16) : std::memcpy(copy.shared, copy.global, 16);
    }
  }
}
