#include "kernels/ir/interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/check.h"
#include "kernels/ir/evaluate.h"
#include "kernels/ir/memory.h"
#include "kernels/ir/mma.h"

namespace quern::kernels::ir {
namespace {

using Mask = std::vector<uint8_t>;

// One block at work on one tile.
class TileRun {
 public:
  TileRun(const Kernel& kernel, const Launch& launch, std::vector<GlobalShadow>& global, uint32_t tile)
      : kernel_(kernel),
        state_{kernel, launch.params, tile, {}, Mask(kernel.threads(), 1), {}},
        global_(global),
        flights_(kernel.threads()) {
    for (const Register& r : kernel.registers) state_.registers.emplace_back(r.type, kernel.threads(), false);
    for (const SharedArray& s : kernel.shared) shared_.emplace_back(s.bytes);
    epochs_.warp.assign(kernel.warps, 1);
  }

  Status Run() {
    Run(kernel_.body);
    if (!failed()) return {};
    return Fail(Code::kFailedPrecondition, "kernel {}: {} (at {})", kernel_.id, state_.fault, where_);
  }

 private:
  struct Flight {
    uint32_t array;
    uint64_t offset;
  };
  struct ThreadFlights {
    std::vector<Flight> open;                 // not committed
    std::vector<std::vector<Flight>> groups;  // committed, oldest first
  };

  bool failed() const { return !state_.fault.empty(); }
  uint32_t threads() const { return kernel_.threads(); }
  bool active(uint32_t t) const { return state_.active[t] != 0; }

  void Run(const Block& block) {
    for (const Stmt& stmt : block) {
      if (failed()) return;
      std::visit([this](const auto& s) { Do(s); }, stmt.node);
    }
  }

  // An operand that every active thread needs.
  Column Need(ExprId id, std::string_view what) {
    Column c = Evaluate(state_, id);
    for (uint32_t t = 0; t < threads(); ++t) {
      if (active(t) && !c.defined[t]) return Broken(t, fmt::format("{} uses a value that was never set", what)), c;
    }
    return c;
  }
  void Broken(uint32_t thread, const std::string& what) {
    if (state_.fault.empty()) where_ = current_;
    state_.Fault(thread, what);
  }

  // Threads of `mask` must agree as far as `uniform` claims.
  void CheckUniform(const Column& c, Uniform uniform, std::string_view what) {
    if (uniform == Uniform::kThread) return;
    const uint32_t span = uniform == Uniform::kWarp ? kWarpThreads : threads();
    for (uint32_t first = 0; first < threads(); first += span) {
      std::optional<uint64_t> seen;
      for (uint32_t t = first; t < first + span; ++t) {
        if (!active(t)) continue;
        if (seen && *seen != c.at(t))
          return Broken(t, fmt::format("{} differs among the threads of a {}", what, NameOf(uniform)));
        seen = c.at(t);
      }
    }
  }

  // Every thread of a warp is active, or none; of the block: all.
  bool WholeWarps(std::string_view what) {
    for (uint32_t w = 0; w < kernel_.warps; ++w) {
      const auto begin = state_.active.begin() + w * kWarpThreads;
      const auto count = std::count(begin, begin + kWarpThreads, 1);
      if (count != 0 && count != kWarpThreads)
        return Broken(w * kWarpThreads, fmt::format("{} with {} of 32 threads", what, count)), false;
    }
    return true;
  }
  bool WholeBlock(std::string_view what) {
    const auto count = std::count(state_.active.begin(), state_.active.end(), 1);
    if (count != threads()) return Broken(0, fmt::format("{} with {} of {} threads", what, count, threads())), false;
    return true;
  }

  void Assign(RegId dst, const Column& value) {
    Column& reg = state_.registers[dst];
    for (uint32_t t = 0; t < threads(); ++t) {
      if (!active(t)) continue;
      reg.defined[t] = value.defined[t];
      for (uint32_t lane = 0; lane < reg.type.lanes; ++lane) reg.at(t, lane) = value.at(t, lane);
    }
  }

  // Reads and writes the bytes of a value, element by element.
  static void Pack(const Column& c, uint32_t thread, std::byte* out) {
    const size_t size = static_cast<size_t>(BytesOf(c.type.scalar));
    for (uint32_t lane = 0; lane < c.type.lanes; ++lane) {
      const uint64_t bits = c.at(thread, lane);
      std::memcpy(out + lane * size, &bits, size);
    }
  }
  static void Unpack(Column& c, uint32_t thread, const std::byte* in) {
    const size_t size = static_cast<size_t>(BytesOf(c.type.scalar));
    for (uint32_t lane = 0; lane < c.type.lanes; ++lane) {
      uint64_t bits = 0;
      std::memcpy(&bits, in + lane * size, size);
      c.at(thread, lane) = bits;
    }
  }

  void Enter(std::string_view what) { current_ = what; }
  std::vector<uint8_t> Allowed(ExprId predicate) {
    if (predicate == kNoExpr) return state_.active;
    const Column c = Need(predicate, "the predicate");
    Mask allowed = state_.active;
    for (uint32_t t = 0; t < threads(); ++t) allowed[t] = allowed[t] && c.at(t) != 0;
    return allowed;
  }
  uint64_t Writer(uint32_t thread) const { return uint64_t{state_.tile} * threads() + thread + 1; }

  void Do(const SetStmt& s) {
    Enter("set " + kernel_.registers[s.dst].name);
    Assign(s.dst, Evaluate(state_, s.value));
    if (failed() && where_.empty()) where_ = current_;
  }

  void Do(const ForStmt& s) {
    Enter("for " + kernel_.registers[s.var].name);
    const Column begin = Need(s.begin, "the loop's begin"), end = Need(s.end, "the loop's end");
    CheckUniform(begin, s.uniform, "the loop's begin");
    CheckUniform(end, s.uniform, "the loop's end");
    const Mask before = state_.active;
    Column var(kU32, threads(), true);
    for (uint32_t t = 0; t < threads(); ++t) var.at(t) = begin.at(t);
    while (!failed()) {
      bool any = false;
      for (uint32_t t = 0; t < threads(); ++t) {
        state_.active[t] = before[t] && var.at(t) < end.at(t);
        any = any || state_.active[t];
      }
      if (!any) break;
      Assign(s.var, var);
      Run(s.body);
      for (uint32_t t = 0; t < threads(); ++t) {
        var.at(t) += s.step;
        if (state_.active[t] && var.at(t) > 0xFFFFFFFFu) Broken(t, "the loop variable overflows");
      }
    }
    state_.active = before;
  }

  void Do(const IfStmt& s) {
    Enter("if");
    const Column condition = Need(s.condition, "the condition");
    CheckUniform(condition, s.uniform, "the condition");
    if (failed()) return;
    const Mask before = state_.active;
    for (const bool branch : {true, false}) {
      bool any = false;
      for (uint32_t t = 0; t < threads(); ++t) {
        state_.active[t] = before[t] && (condition.at(t) != 0) == branch;
        any = any || state_.active[t];
      }
      if (any) Run(branch ? s.then_body : s.else_body);
    }
    state_.active = before;
  }

  void Do(const LoadGlobalStmt& s) {
    const Buffer& buffer = kernel_.buffers[s.buffer];
    Enter("load of " + buffer.name + " to " + kernel_.registers[s.dst].name);
    const Column offset = Need(s.offset, "the offset");
    const Mask allowed = Allowed(s.predicate);
    if (failed()) return;
    if (buffer.access == Access::kWrite) return Broken(0, "a load from a write-only buffer");
    Column value(kernel_.registers[s.dst].type, threads(), true);
    for (uint32_t t = 0; t < threads(); ++t) {
      if (!allowed[t]) continue;
      std::array<std::byte, 16> bytes;
      if (auto wrong = global_[s.buffer].Read(Writer(t), offset.at(t), BytesOf(value.type), bytes.data()))
        return Broken(t, *wrong);
      Unpack(value, t, bytes.data());
    }
    Assign(s.dst, value);
  }

  void Do(const StoreGlobalStmt& s) {
    const Buffer& buffer = kernel_.buffers[s.buffer];
    Enter("store to " + buffer.name);
    const Column offset = Need(s.offset, "the offset");
    const Mask allowed = Allowed(s.predicate);
    const Column value = Evaluate(state_, s.value);
    if (failed()) return;
    if (buffer.access == Access::kRead) return Broken(0, "a store to a read-only buffer");
    for (uint32_t t = 0; t < threads(); ++t) {
      if (!allowed[t]) continue;
      if (!value.defined[t]) return Broken(t, "an output gets a value that was never set");
      std::array<std::byte, 16> bytes;
      Pack(value, t, bytes.data());
      if (auto wrong = global_[s.buffer].Write(Writer(t), offset.at(t), BytesOf(value.type), bytes.data()))
        return Broken(t, *wrong);
    }
  }

  void Do(const LoadSharedStmt& s) {
    Enter("load of " + kernel_.shared[s.array].name + " to " + kernel_.registers[s.dst].name);
    const Column offset = Need(s.offset, "the offset");
    Column value(kernel_.registers[s.dst].type, threads(), true);
    for (uint32_t t = 0; t < threads() && !failed(); ++t) {
      if (!active(t)) continue;
      std::array<std::byte, 16> bytes;
      bool defined = true;
      if (auto wrong = shared_[s.array].Read(t, offset.at(t), BytesOf(value.type), bytes.data(), epochs_, defined))
        return Broken(t, *wrong);
      value.defined[t] = defined;
      Unpack(value, t, bytes.data());
    }
    Assign(s.dst, value);
  }

  void Do(const StoreSharedStmt& s) {
    Enter("store to " + kernel_.shared[s.array].name);
    const Column offset = Need(s.offset, "the offset"), value = Need(s.value, "the store");
    const Mask allowed = Allowed(s.predicate);
    for (uint32_t t = 0; t < threads() && !failed(); ++t) {
      if (!allowed[t]) continue;
      std::array<std::byte, 16> bytes;
      Pack(value, t, bytes.data());
      if (auto wrong = shared_[s.array].Write(t, offset.at(t), BytesOf(value.type), bytes.data(), epochs_))
        return Broken(t, *wrong);
    }
  }

  void Do(const BarrierStmt&) {
    Enter("barrier");
    if (!WholeBlock("a barrier")) return;
    ++epochs_.block;
  }
  void Do(const WarpSyncStmt&) {
    Enter("warp_sync");
    if (!WholeWarps("a warp synchronisation")) return;
    for (uint32_t w = 0; w < kernel_.warps; ++w) epochs_.warp[w] += state_.active[w * kWarpThreads];
  }

  // dst of thread t = value of thread source(t).
  template <typename Source>
  void Shuffle(RegId dst, ExprId value_id, const Source& source) {
    if (!WholeWarps("a shuffle")) return;
    const Column value = Need(value_id, "the shuffle");
    Column out = value;
    for (uint32_t t = 0; t < threads() && !failed(); ++t) {
      if (!active(t)) continue;
      const uint64_t lane = source(t);
      if (lane >= kWarpThreads) return Broken(t, fmt::format("a shuffle from lane {}", lane));
      for (uint32_t i = 0; i < value.type.lanes; ++i)
        out.at(t, i) = value.at(t / kWarpThreads * kWarpThreads + static_cast<uint32_t>(lane), i);
    }
    Assign(dst, out);
  }
  void Do(const ShuffleXorStmt& s) {
    Enter("shuffle to " + kernel_.registers[s.dst].name);
    Shuffle(s.dst, s.value, [&](uint32_t t) { return t % kWarpThreads ^ s.mask; });
  }
  void Do(const ShuffleIndexStmt& s) {
    Enter("shuffle to " + kernel_.registers[s.dst].name);
    const Column source = Need(s.source, "the source lane");
    Shuffle(s.dst, s.value, [&](uint32_t t) { return source.at(t); });
  }

  void Do(const AsyncCopyStmt& s) {
    Enter("asynchronous copy to " + kernel_.shared[s.array].name);
    const Column to = Need(s.shared_offset, "the offset"), from = Need(s.global_offset, "the offset");
    const Mask allowed = Allowed(s.predicate);
    for (uint32_t t = 0; t < threads() && !failed(); ++t) {
      if (!active(t)) continue;
      std::array<std::byte, 16> bytes{};
      if (allowed[t]) {
        if (auto wrong = global_[s.buffer].Read(Writer(t), from.at(t), 16, bytes.data())) return Broken(t, *wrong);
      }
      if (auto wrong = shared_[s.array].Begin(t, to.at(t), 16, bytes.data(), epochs_)) return Broken(t, *wrong);
      flights_[t].open.push_back({s.array, to.at(t)});
    }
  }
  void Do(const AsyncCommitStmt&) {
    for (uint32_t t = 0; t < threads(); ++t) {
      if (active(t)) flights_[t].groups.push_back(std::exchange(flights_[t].open, {}));
    }
  }
  void Do(const AsyncWaitStmt& s) {
    for (uint32_t t = 0; t < threads(); ++t) {
      if (!active(t)) continue;
      auto& groups = flights_[t].groups;
      while (groups.size() > s.pending) {
        for (const Flight& f : groups.front()) shared_[f.array].Arrive(t, f.offset, 16, epochs_);
        groups.erase(groups.begin());
      }
    }
  }

  void Do(const MmaStmt& s) {
    Enter("mma to " + kernel_.registers[s.dst].name);
    if (!WholeWarps("an mma")) return;
    const Column a = Need(s.a, "the mma"), b = Need(s.b, "the mma"), c = Need(s.c, "the mma");
    if (failed()) return;
    Column out = c;
    for (uint32_t w = 0; w < kernel_.warps; ++w) {
      if (!active(w * kWarpThreads)) continue;
      const auto gather = [&](const Column& column) {
        std::vector<uint32_t> words;
        for (uint32_t t = w * kWarpThreads; t < (w + 1) * kWarpThreads; ++t) {
          for (uint32_t i = 0; i < column.type.lanes; ++i) words.push_back(static_cast<uint32_t>(column.at(t, i)));
        }
        return words;
      };
      std::vector<uint32_t> d(kWarpThreads * 4);
      WarpMma(s.kind, gather(a).data(), gather(b).data(), gather(c).data(), d.data());
      for (uint32_t i = 0; i < d.size(); ++i) out.at(w * kWarpThreads + i / 4, i % 4) = d[i];
    }
    Assign(s.dst, out);
  }
  void Do(const CommentStmt&) {}

  const Kernel& kernel_;
  BlockState state_;
  std::vector<GlobalShadow>& global_;
  std::vector<SharedMemory> shared_;
  Epochs epochs_;
  std::vector<ThreadFlights> flights_;
  std::string current_, where_;
};

Status CheckLaunch(const Kernel& kernel, const Launch& launch) {
  QUERN_CHECK(launch.params.size() == kernel.params.size() && launch.buffers.size() == kernel.buffers.size());
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Param& p = kernel.params[i];
    const uint32_t v = launch.params[i];
    if (p.type == Scalar::kU32 && (v < p.min || v > p.max || v % p.multiple_of != 0)) {
      return Fail(Code::kFailedPrecondition, "kernel {}: {} is {}; it must be within {} and {} and a multiple of {}",
                  kernel.id, p.name, v, p.min, p.max, p.multiple_of);
    }
  }
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& b = kernel.buffers[i];
    const uint64_t needed = EvaluateOverParams(kernel, b.min_bytes, launch.params);
    if (launch.buffers[i].size() < needed)
      return Fail(Code::kFailedPrecondition, "kernel {}: buffer {} has {} bytes, {} are needed", kernel.id, b.name,
                  launch.buffers[i].size(), needed);
    if (reinterpret_cast<uintptr_t>(launch.buffers[i].data()) % b.align != 0)
      return Fail(Code::kFailedPrecondition, "kernel {}: buffer {} is not aligned to {} bytes", kernel.id, b.name,
                  b.align);
  }
  return {};
}

}  // namespace

uint64_t EvaluateOverParams(const Kernel& kernel, ExprId id, std::span<const uint32_t> params) {
  const Expr& e = kernel.expr(id);
  if (e.op == Op::kParam) return params[e.value];
  if (e.op == Op::kConst) return e.value;
  uint64_t args[4] = {};
  QUERN_CHECK(e.num_args > 0);
  for (int i = 0; i < e.num_args; ++i) args[i] = EvaluateOverParams(kernel, e.args[i], params);
  if (e.op == Op::kSelect) return args[0] ? args[1] : args[2];
  bool ok = true;
  const uint64_t value = Apply(e, kernel.expr(e.args[0]).type, args, ok);
  QUERN_CHECK(ok);
  return value;
}

Status Interpret(const Kernel& kernel, const Launch& launch) {
  QUERN_TRY(CheckLaunch(kernel, launch));
  std::vector<GlobalShadow> global;
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const uint64_t bytes = EvaluateOverParams(kernel, kernel.buffers[i].min_bytes, launch.params);
    global.emplace_back(launch.buffers[i].first(bytes), kernel.buffers[i].access != Access::kRead);
  }
  std::vector<uint32_t> tiles(EvaluateOverParams(kernel, kernel.num_tiles, launch.params));
  std::iota(tiles.begin(), tiles.end(), 0);
  std::mt19937_64 random(launch.seed);
  if (launch.seed != 0) std::shuffle(tiles.begin(), tiles.end(), random);
  for (const uint32_t tile : tiles) QUERN_TRY(TileRun(kernel, launch, global, tile).Run());
  return {};
}

}  // namespace quern::kernels::ir
