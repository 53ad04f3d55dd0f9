// What the threads of a warp or a block do together: barriers, shuffles, matrix products. All of them must be there.
#include <algorithm>

#include <fmt/format.h>

#include "kernels/ir/block_run.h"
#include "kernels/ir/mma.h"

namespace quern::kernels::ir {

bool BlockRun::WholeWarps(std::string_view what) {
  for (uint32_t w = 0; w < kernel_.warps; ++w) {
    const auto begin = state_.active.begin() + w * kWarpThreads;
    const auto count = std::count(begin, begin + kWarpThreads, 1);
    if (count == 0 || count == kWarpThreads) continue;
    state_.Fault(w * kWarpThreads, fmt::format("{} with {} of 32 threads", what, count));
    return false;
  }
  return true;
}

bool BlockRun::WholeBlock(std::string_view what) {
  const auto count = std::count(state_.active.begin(), state_.active.end(), 1);
  if (count != threads()) state_.Fault(0, fmt::format("{} with {} of {} threads", what, count, threads()));
  return count == threads();
}

void BlockRun::Do(const BarrierStmt&) {
  if (WholeBlock("a barrier")) ++epochs_.block;
}

void BlockRun::Do(const WarpSyncStmt&) {
  if (!WholeWarps("a warp synchronisation")) return;
  for (uint32_t w = 0; w < kernel_.warps; ++w) epochs_.warp[w] += state_.active[w * kWarpThreads];
}

// dst of thread t = value of lane source(t) of its warp.
template <typename Source>
void BlockRun::Shuffle(RegId dst, ExprId value_id, const Source& source) {
  if (!WholeWarps("a shuffle")) return;
  const Column value = Need(value_id, "the shuffle");
  Column out = value;
  for (uint32_t t = 0; t < threads() && !failed(); ++t) {
    if (!active(t)) continue;
    const uint64_t lane = source(t);
    if (lane >= kWarpThreads) return state_.Fault(t, fmt::format("a shuffle from lane {}", lane));
    for (uint32_t i = 0; i < value.type.lanes; ++i)
      out.at(t, i) = value.at(t / kWarpThreads * kWarpThreads + static_cast<uint32_t>(lane), i);
  }
  Assign(dst, out);
}

void BlockRun::Do(const ShuffleXorStmt& s) {
  Shuffle(s.dst, s.value, [&](uint32_t t) { return t % kWarpThreads ^ s.mask; });
}

void BlockRun::Do(const ShuffleIndexStmt& s) {
  const Column source = Need(s.source, "the source lane");
  Shuffle(s.dst, s.value, [&](uint32_t t) { return source.at(t); });
}

void BlockRun::Do(const MmaStmt& s) {
  if (!WholeWarps("an mma")) return;
  const Column a = Need(s.a, "the mma"), b = Need(s.b, "the mma"), c = Need(s.c, "the mma");
  if (failed()) return;
  const MmaShape shape = ShapeOf(s.kind);
  const Type sum = shape.integer ? kI32x4 : kF32x4;
  if (a.type != Type{Scalar::kU32, static_cast<uint8_t>(shape.a_words)} ||
      b.type != Type{Scalar::kU32, static_cast<uint8_t>(shape.b_words)} || c.type != sum)
    return state_.Fault(0, "an operand of the mma has another type than its kind");
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

}  // namespace quern::kernels::ir
