// Statements of the interpreter that touch global or shared memory.
#include <array>
#include <cstring>
#include <utility>

#include "kernels/ir/block_run.h"

namespace quern::kernels::ir {
namespace {

using Bytes = std::array<std::byte, 16>;  // of the widest value

// The bytes of a value in memory, element by element.
void Pack(const Column& c, uint32_t thread, std::byte* out) {
  const size_t size = static_cast<size_t>(BytesOf(c.type.scalar));
  for (uint32_t lane = 0; lane < c.type.lanes; ++lane) {
    const uint64_t bits = c.at(thread, lane);
    std::memcpy(out + lane * size, &bits, size);
  }
}

void Unpack(Column& c, uint32_t thread, const std::byte* in) {
  const size_t size = static_cast<size_t>(BytesOf(c.type.scalar));
  for (uint32_t lane = 0; lane < c.type.lanes; ++lane) {
    uint64_t bits = 0;
    std::memcpy(&bits, in + lane * size, size);
    c.at(thread, lane) = bits;
  }
}

}  // namespace

void BlockRun::Do(const LoadGlobalStmt& s) {
  const Column offset = Need(s.offset, "the offset");
  const Mask allowed = Allowed(s.predicate);
  if (failed()) return;
  if (kernel_.buffers[s.buffer].access == Access::kWrite) return state_.Fault(0, "a load from a write-only buffer");
  Column value(kernel_.registers[s.dst].type, threads(), true);
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!allowed[t]) continue;
    Bytes bytes;
    if (auto wrong = global_[s.buffer].Read(Self(t), offset.at(t), BytesOf(value.type), bytes.data()))
      return state_.Fault(t, *wrong);
    Unpack(value, t, bytes.data());
  }
  Assign(s.dst, value);
}

void BlockRun::Do(const StoreGlobalStmt& s) {
  const Column offset = Need(s.offset, "the offset");
  const Mask allowed = Allowed(s.predicate);
  const Column value = Evaluate(state_, s.value);
  if (failed()) return;
  if (kernel_.buffers[s.buffer].access == Access::kRead) return state_.Fault(0, "a store to a read-only buffer");
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!allowed[t]) continue;
    if (!value.defined[t]) return state_.Fault(t, "an output gets a value that was never set");
    Bytes bytes;
    Pack(value, t, bytes.data());
    if (auto wrong = global_[s.buffer].Write(Self(t), offset.at(t), BytesOf(value.type), bytes.data()))
      return state_.Fault(t, *wrong);
  }
}

void BlockRun::Do(const LoadSharedStmt& s) {
  const Column offset = Need(s.offset, "the offset");
  Column value(kernel_.registers[s.dst].type, threads(), true);
  for (uint32_t t = 0; t < threads() && !failed(); ++t) {
    if (!active(t)) continue;
    Bytes bytes;
    bool defined = true;
    if (auto wrong = shared_[s.array].Read(t, offset.at(t), BytesOf(value.type), bytes.data(), epochs_, defined))
      return state_.Fault(t, *wrong);
    value.defined[t] = defined;
    Unpack(value, t, bytes.data());
  }
  Assign(s.dst, value);
}

void BlockRun::Do(const StoreSharedStmt& s) {
  const Column offset = Need(s.offset, "the offset"), value = Evaluate(state_, s.value);
  const Mask allowed = Allowed(s.predicate);
  for (uint32_t t = 0; t < threads() && !failed(); ++t) {
    if (!allowed[t]) continue;
    if (!value.defined[t]) return state_.Fault(t, "the store uses a value that was never set");
    Bytes bytes;
    Pack(value, t, bytes.data());
    if (auto wrong = shared_[s.array].Write(t, offset.at(t), BytesOf(value.type), bytes.data(), epochs_))
      return state_.Fault(t, *wrong);
  }
}

void BlockRun::Do(const AsyncCopyStmt& s) {
  const Column to = Need(s.shared_offset, "the offset"), from = Need(s.global_offset, "the offset");
  const Mask allowed = Allowed(s.predicate);
  if (failed()) return;
  if (kernel_.buffers[s.buffer].access == Access::kWrite) return state_.Fault(0, "a load from a write-only buffer");
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!active(t)) continue;
    Bytes bytes{};
    if (allowed[t]) {
      if (auto wrong = global_[s.buffer].Read(Self(t), from.at(t), 16, bytes.data())) return state_.Fault(t, *wrong);
    }
    if (auto wrong = shared_[s.array].Begin(t, to.at(t), 16, bytes.data(), epochs_)) return state_.Fault(t, *wrong);
    flights_[t].open.push_back({s.array, to.at(t)});
  }
}

void BlockRun::Do(const AsyncCommitStmt&) {
  for (uint32_t t = 0; t < threads(); ++t) {
    if (active(t)) flights_[t].groups.push_back(std::exchange(flights_[t].open, {}));
  }
}

void BlockRun::Do(const AsyncWaitStmt& s) {
  for (uint32_t t = 0; t < threads(); ++t) {
    if (!active(t)) continue;
    auto& groups = flights_[t].groups;
    while (groups.size() > s.pending) {
      for (const Flight& f : groups.front()) shared_[f.array].Arrive(t, f.offset, 16, epochs_);
      groups.erase(groups.begin());
    }
  }
}

}  // namespace quern::kernels::ir
