// What the interpreter knows about every byte: who wrote it, who read it, and when. Internal to kernels/ir.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/ir/type.h"

namespace quern::kernels::ir {

// Time within a tile: a block's barriers count for everyone, a warp's synchronisations for its own threads.
struct Epochs {
  uint32_t block = 1;
  std::vector<uint32_t> warp;
};

// One array of shared memory.
class SharedMemory {
 public:
  explicit SharedMemory(uint32_t bytes) : cells_(bytes) {}

  // Each returns what is wrong, if something is.
  std::optional<std::string> Write(uint32_t thread, uint64_t offset, int bytes, const void* data, const Epochs& now);
  // `defined` becomes false when a byte was never written.
  std::optional<std::string> Read(uint32_t thread, uint64_t offset, int bytes, void* data, const Epochs& now,
                                  bool& defined);
  // An asynchronous copy: the bytes may not be touched until Arrive.
  std::optional<std::string> Begin(uint32_t thread, uint64_t offset, int bytes, const void* data, const Epochs& now);
  void Arrive(uint32_t thread, uint64_t offset, int bytes, const Epochs& now);

 private:
  struct Cell {
    uint8_t value = 0xA5;
    bool defined = false, in_flight = false;
    uint32_t writer = 0, write_block = 0, write_warp = 0;
    // The readers since: one thread, several of one warp, or of several warps.
    enum class Readers : uint8_t { kNone, kOne, kWarp, kMany } readers = Readers::kNone;
    uint32_t reader = 0, read_block = 0, read_warp = 0;

    // Whether a reader other than `thread` is not separated from now by a barrier.
    bool ReadUnordered(uint32_t thread, const Epochs& now) const;
    std::string NameOfReaders() const;
  };
  std::optional<std::string> Check(uint64_t offset, int bytes) const;

  std::vector<Cell> cells_;
};

// Who touches global memory: a thread of a tile, after so many barriers of its block.
struct Actor {
  uint32_t tile = 0, thread = 0, block_epoch = 1;
};

// Who wrote and who read each byte of a buffer in this launch. A byte has one writer, whatever the barriers between
// (rule V8). Its writer's tile may read it, before the write or after it, with a barrier between; other tiles never.
class GlobalShadow {
 public:
  GlobalShadow(std::span<std::byte> bytes, bool tracked) : bytes_(bytes), writes_(tracked ? bytes.size() : 0) {}

  // Each returns what is wrong, if something is.
  std::optional<std::string> Write(const Actor& self, uint64_t offset, int bytes, const void* data);
  std::optional<std::string> Read(const Actor& self, uint64_t offset, int bytes, void* data);
  // Of a tracked buffer.
  std::optional<uint64_t> FirstUnwritten() const;

 private:
  struct Touch {
    enum class Who : uint8_t { kNobody, kThread, kTile, kTiles } who = Who::kNobody;  // one thread, or several
    Actor last;

    // By whom, if a conflicting access of `self` is not ordered after this one.
    std::optional<std::string> Against(const Actor& self) const;
    void Add(const Actor& self);
  };
  std::optional<std::string> Check(uint64_t offset, int bytes) const;

  std::span<std::byte> bytes_;
  std::vector<Touch> writes_;
  std::vector<Touch> reads_;  // empty until the first read of a tracked buffer
};

}  // namespace quern::kernels::ir
