// FlatMap: 64-bit keys to small values by open addressing. Written while a tokenizer is built, read by any thread
// afterwards; nothing is ever erased. It exists because the merge table is probed once or twice per input character,
// where a node-based map costs a cache miss more. The key ~0 is reserved.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::text {

// A full-avalanche mix: neighbouring pair keys must not land in neighbouring slots of one cluster.
inline uint64_t MixBits(uint64_t x) {
  x *= 0x9E3779B97F4A7C15;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93;
  return x ^ (x >> 32);
}

template <typename Value>
class FlatMap {
 public:
  // Room for `count` keys without growing.
  explicit FlatMap(size_t count = 0) { Resize(count); }

  size_t size() const { return size_; }

  const Value* Find(uint64_t key) const {
    for (size_t at = MixBits(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].value;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }
  // The value of `key`, made when it is new.
  Value& operator[](uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    size_t at = MixBits(key) & mask_;
    for (; slots_[at].key != key; at = (at + 1) & mask_) {
      if (slots_[at].key != kEmpty) continue;
      slots_[at].key = key;
      ++size_;
      break;
    }
    return slots_[at].value;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  struct Slot {
    uint64_t key = kEmpty;
    Value value{};
  };

  void Resize(size_t count) {
    slots_.assign(std::bit_ceil(2 * count + 16), Slot{});  // load at most one half
    mask_ = slots_.size() - 1;
  }
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    Resize(old.size());
    size_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) (*this)[slot.key] = slot.value;
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

}  // namespace quern::text
