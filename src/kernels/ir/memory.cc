#include "kernels/ir/memory.h"

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
  if (offset + static_cast<uint64_t>(bytes) > size)
    return fmt::format("out of bounds: {} bytes at {} of {}", bytes, offset, size);
  return std::nullopt;
}

}  // namespace

bool SharedMemory::Cell::ReadUnordered(uint32_t thread, const Epochs& now) const {
  if (readers == Readers::kNone || read_block != now.block) return false;
  if (readers == Readers::kOne) return !Ordered(reader, read_block, read_warp, thread, now);
  return readers == Readers::kMany || WarpOf(reader) != WarpOf(thread) || read_warp == now.warp[WarpOf(thread)];
}

std::optional<std::string> SharedMemory::Check(uint64_t offset, int bytes) const {
  return Bounds(offset, bytes, cells_.size());
}

std::optional<std::string> SharedMemory::Write(uint32_t thread, uint64_t offset, int bytes, const void* data,
                                               const Epochs& now) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  for (int i = 0; i < bytes; ++i) {
    Cell& c = cells_[offset + static_cast<uint64_t>(i)];
    if (c.in_flight) return fmt::format("race: byte {} is being copied by thread {}", offset, c.writer);
    if (c.defined && !Ordered(c.writer, c.write_block, c.write_warp, thread, now)) {
      return fmt::format("race: byte {} was written by thread {} with no barrier between", offset, c.writer);
    }
    if (c.ReadUnordered(thread, now))
      return fmt::format("race: byte {} was read by thread {} with no barrier between", offset, c.reader);
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
    Cell& c = cells_[offset + static_cast<uint64_t>(i)];
    if (c.in_flight)
      return fmt::format("byte {} is read before its asynchronous copy by thread {} was waited for", offset, c.writer);
    if (c.defined && !Ordered(c.writer, c.write_block, c.write_warp, thread, now)) {
      return fmt::format("race: byte {} was written by thread {} with no barrier between", offset, c.writer);
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

std::optional<std::string> GlobalShadow::Write(uint64_t writer, uint64_t offset, int bytes, const void* data) {
  if (auto wrong = Check(offset, bytes)) return wrong;
  for (int i = 0; i < bytes; ++i) {
    uint64_t& owner = writers_[offset + static_cast<uint64_t>(i)];
    if (owner != 0 && owner != writer) return fmt::format("byte {} is written by two threads", offset);
    owner = writer;
  }
  std::memcpy(bytes_.data() + offset, data, static_cast<size_t>(bytes));
  return std::nullopt;
}

std::optional<std::string> GlobalShadow::Read(uint64_t reader, uint64_t offset, int bytes, void* data) const {
  if (auto wrong = Check(offset, bytes)) return wrong;
  if (!writers_.empty()) {
    for (int i = 0; i < bytes; ++i) {
      const uint64_t owner = writers_[offset + static_cast<uint64_t>(i)];
      if (owner != 0 && owner != reader) return fmt::format("byte {} is read after another thread wrote it", offset);
    }
  }
  std::memcpy(data, bytes_.data() + offset, static_cast<size_t>(bytes));
  return std::nullopt;
}

}  // namespace quern::kernels::ir
