// ProtobufReader: walks the fields of one protobuf message without a schema. Bounded like ByteReader: a length or a
// varint that the bytes do not hold ends the walk. Groups, dropped from the language in 2008, are refused.
// Source of the encoding: protobuf.dev, "Encoding". Internal to the room.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "format/byte_reader.h"

namespace quern::format {

class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : reader_(std::as_bytes(std::span(message))) {}

  struct Field {
    uint32_t number = 0;
    uint64_t integer = 0;    // of a varint or a fixed number
    std::string_view bytes;  // of a string, bytes or message
    float as_float() const { return std::bit_cast<float>(static_cast<uint32_t>(integer)); }
    bool as_bool() const { return integer != 0; }
    // int32 fields are sign-extended to 64 bits when written; the low half is the value.
    int32_t as_int32() const { return static_cast<int32_t>(static_cast<uint32_t>(integer)); }
  };

  // The next field; false at the end and at the first malformed byte, which ok() tells apart.
  bool Next(Field* field) {
    if (reader_.remaining() == 0) return false;
    ok_ = ReadField(field);
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  bool ReadField(Field* field) {
    uint64_t tag = 0;
    if (!ReadVarint(&tag) || tag >> 3 == 0 || tag >> 32 != 0) return false;
    *field = {static_cast<uint32_t>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0:
        return ReadVarint(&field->integer);
      case 1:
        return reader_.Read(&field->integer);
      case 2:
        return ReadLengthDelimited(&field->bytes);
      case 5: {
        uint32_t fixed = 0;
        if (!reader_.Read(&fixed)) return false;
        field->integer = fixed;
        return true;
      }
      default:
        return false;
    }
  }

  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t byte = 0;
      if (!reader_.Read(&byte)) return false;
      *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool ReadLengthDelimited(std::string_view* bytes) {
    uint64_t size_bytes = 0;
    std::span<const std::byte> content;
    if (!ReadVarint(&size_bytes) || !reader_.ReadBytes(size_bytes, &content)) return false;
    *bytes = {reinterpret_cast<const char*>(content.data()), content.size()};
    return true;
  }

  ByteReader reader_;
  bool ok_ = true;
};

}  // namespace quern::format
