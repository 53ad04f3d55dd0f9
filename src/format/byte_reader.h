// ByteReader: a cursor over bytes from a file that never leaves them. Lengths come from the file and are compared with
// what remains before anything is added to the position, so no value can overflow it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace quern::format {

static_assert(std::endian::native == std::endian::little, "the formats read here are little-endian, as are our hosts");

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // False, with nothing consumed, when fewer bytes remain.
  template <typename T>
  [[nodiscard]] bool Read(T* value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  [[nodiscard]] bool ReadBytes(uint64_t count, std::span<const std::byte>* bytes) {
    if (remaining() < count) return false;
    *bytes = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }

  // A 64-bit length, then that many bytes.
  [[nodiscard]] bool ReadString(std::string_view* text) {
    const uint64_t start = position_;
    uint64_t size_bytes = 0;
    std::span<const std::byte> bytes;
    if (!Read(&size_bytes) || !ReadBytes(size_bytes, &bytes)) {
      position_ = start;
      return false;
    }
    *text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

}  // namespace quern::format
