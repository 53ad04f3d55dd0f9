#include "kernels/ir/memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {
namespace {

uint32_t WarpOf(uint32_t thread) { return thread / kWarpThreads; }

// Whether an access of `thread` at (block, warp epoch) is ordered before what thread `other` does now.
bool Ordered(uint32_t thread, uint32_t block, uint32_t warp, uint32_t other, const Epochs& now) {
  return thread == other || block != now.block || (WarpOf(thread) == WarpOf(other) && warp != now.warp[WarpOf(other)]);
}

std::optional<std::string> Bounds(uint64_t offset, int bytes, uint64_t size) {
  if (offset % static_cast<uint64_t>(bytes) != 0) return fmt::format("offset {} is no multiple of {}", offset, bytes);
  if (offset > size || size - offset < static_cast<uint64_t>(bytes))
    return fmt::format("out of bounds: {} bytes at {} of {}", bytes, offset, size);
  return std::nullopt;
}

}  // namespace

bool SharedMemory::Cell::ReadUnordered(uint32_t thread, const Epochs& now) const {
  if (readers == Readers::kNone || read_block != now.block) return false;
  if (readers == Readers::kOne) return !Ordered(reader, read_block, read_warp, thread, now);
  return readers == Readers::kMany || WarpOf(reader) != WarpOf(thread) || read_warp == now.warp[WarpOf(thread)];
}

std::string SharedMemory::Cell::NameOfReaders() const {
  return readers == Readers::kOne ? fmt::format("thread {}", reader) : "several threads";
}

std::optional<std::string> SharedMemory::Check(uint64_t offset, int bytes) const {
  return Bounds(offset, bytes, cells_.size());
}

std::optional<std::string> SharedMemory::Write(uint32_t thread, uint64_t offset, int bytes, const void* data,
                                               const Epochs& now) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  for (int i = 0; i < bytes; ++i) {
    const uint64_t at = offset + static_cast<uint64_t>(i);
    Cell& c = cells_[at];
    if (c.in_flight) return fmt::format("race: byte {} is being copied by thread {}", at, c.writer);
    if (c.defined && !Ordered(c.writer, c.write_block, c.write_warp, thread, now)) {
      return fmt::format("race: byte {} was written by thread {} with no barrier between", at, c.writer);
    }
    if (c.ReadUnordered(thread, now))
      return fmt::format("race: byte {} was read by {} with no barrier between", at, c.NameOfReaders());
    c.value = static_cast<const uint8_t*>(data)[i];
    c.defined = true;
    c.writer = thread;
    c.write_block = now.block;
    c.write_warp = now.warp[WarpOf(thread)];
    c.readers = Cell::Readers::kNone;
  }
  return std::nullopt;
}

std::optional<std::string> SharedMemory::Read(uint32_t thread, uint64_t offset, int bytes, void* data,
                                              const Epochs& now, bool& defined) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  for (int i = 0; i < bytes; ++i) {
    const uint64_t at = offset + static_cast<uint64_t>(i);
    Cell& c = cells_[at];
    if (c.in_flight)
      return fmt::format("byte {} is read before its asynchronous copy by thread {} was waited for", at, c.writer);
    if (c.defined && !Ordered(c.writer, c.write_block, c.write_warp, thread, now)) {
      return fmt::format("race: byte {} was written by thread {} with no barrier between", at, c.writer);
    }
    defined = defined && c.defined;
    static_cast<uint8_t*>(data)[i] = c.value;
    const bool fresh = c.readers == Cell::Readers::kNone || c.read_block != now.block;
    if (fresh || (c.readers == Cell::Readers::kOne && c.reader == thread)) {
      c.readers = Cell::Readers::kOne;
    } else if (WarpOf(c.reader) == WarpOf(thread) && c.readers != Cell::Readers::kMany) {
      c.readers = c.read_warp == now.warp[WarpOf(thread)] ? Cell::Readers::kWarp : Cell::Readers::kOne;
    } else {
      c.readers = Cell::Readers::kMany;
    }
    c.reader = thread;
    c.read_block = now.block;
    c.read_warp = now.warp[WarpOf(thread)];
  }
  return std::nullopt;
}

std::optional<std::string> SharedMemory::Begin(uint32_t thread, uint64_t offset, int bytes, const void* data,
                                               const Epochs& now) {
  if (auto wrong = Write(thread, offset, bytes, data, now)) return wrong;
  for (int i = 0; i < bytes; ++i) cells_[offset + static_cast<uint64_t>(i)].in_flight = true;
  return std::nullopt;
}

void SharedMemory::Arrive(uint32_t thread, uint64_t offset, int bytes, const Epochs& now) {
  for (int i = 0; i < bytes; ++i) {
    Cell& c = cells_[offset + static_cast<uint64_t>(i)];
    c.in_flight = false;
    c.write_block = now.block;
    c.write_warp = now.warp[WarpOf(thread)];
  }
}

std::optional<std::string> GlobalShadow::Check(uint64_t offset, int bytes) const {
  return Bounds(offset, bytes, bytes_.size());
}

std::optional<std::string> GlobalShadow::Touch::Against(const Actor& self) const {
  if (who == Who::kNobody || (who == Who::kThread && last.tile == self.tile && last.thread == self.thread))
    return std::nullopt;
  if (who == Who::kTiles) return "several tiles";
  if (last.tile != self.tile) return fmt::format("thread {} of tile {}", last.thread, last.tile);
  if (last.block_epoch != self.block_epoch) return std::nullopt;
  if (who == Who::kTile) return "several threads with no barrier between";
  return fmt::format("thread {} with no barrier between", last.thread);
}

void GlobalShadow::Touch::Add(const Actor& self) {
  if (who == Who::kNobody) {
    who = Who::kThread;
  } else if (who == Who::kTiles || last.tile != self.tile) {
    who = Who::kTiles;
  } else if (last.block_epoch != self.block_epoch) {
    who = Who::kThread;  // a barrier orders the earlier ones before everything that the tile still does
  } else if (last.thread != self.thread) {
    who = Who::kTile;
  }
  last = self;
}

std::optional<std::string> GlobalShadow::Write(const Actor& self, uint64_t offset, int bytes, const void* data) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  for (int i = 0; i < bytes; ++i) {
    const uint64_t at = offset + static_cast<uint64_t>(i);
    const Touch& write = writes_[at];
    if (write.who != Touch::Who::kNobody && (write.last.tile != self.tile || write.last.thread != self.thread))
      return fmt::format("byte {} is written by two threads: before by thread {} of tile {}", at, write.last.thread,
                         write.last.tile);
    if (!reads_.empty()) {
      if (const auto by = reads_[at].Against(self))
        return fmt::format("byte {} is written, but was read by {}", at, *by);
    }
    writes_[at].Add(self);
  }
  std::memcpy(bytes_.data() + offset, data, static_cast<size_t>(bytes));
  return std::nullopt;
}

std::optional<std::string> GlobalShadow::Read(const Actor& self, uint64_t offset, int bytes, void* data) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  if (!writes_.empty()) {
    if (reads_.empty()) reads_.resize(writes_.size());
    for (int i = 0; i < bytes; ++i) {
      const uint64_t at = offset + static_cast<uint64_t>(i);
      if (const auto by = writes_[at].Against(self))
        return fmt::format("byte {} is read, but was written by {}", at, *by);
      reads_[at].Add(self);
    }
  }
  std::memcpy(data, bytes_.data() + offset, static_cast<size_t>(bytes));
  return std::nullopt;
}

std::optional<uint64_t> GlobalShadow::FirstUnwritten() const {
  const auto unwritten =
      std::find_if(writes_.begin(), writes_.end(), [](const Touch& w) { return w.who == Touch::Who::kNobody; });
  if (unwritten == writes_.end()) return std::nullopt;
  return static_cast<uint64_t>(unwritten - writes_.begin());
}

}  // namespace quern::kernels::ir
