// The part of GgufReader that decodes metadata values.
#include <cstring>
#include <utility>

#include "format/gguf_reader.h"

namespace quern::format {
namespace {

// Arrays are widened to 8 bytes an element, so a file of single bytes could ask for 8 times its size. 2^26 elements
// (512 MiB) in all arrays of a file are 60 times what a Gemma 4 file has.
constexpr uint64_t kMaxArrayElems = uint64_t{1} << 26;

bool IsKnown(GgufType type) { return static_cast<uint32_t>(type) <= static_cast<uint32_t>(GgufType::kFloat64); }

}  // namespace

Result<GgufValue> GgufReader::ReadValue() {
  GgufType type{};
  if (!reader_.Read(&type)) return Truncated("the value type");
  switch (type) {
    case GgufType::kUint8:
      return ReadScalar<uint8_t, uint64_t>(type);
    case GgufType::kUint16:
      return ReadScalar<uint16_t, uint64_t>(type);
    case GgufType::kUint32:
      return ReadScalar<uint32_t, uint64_t>(type);
    case GgufType::kUint64:
      return ReadScalar<uint64_t, uint64_t>(type);
    case GgufType::kInt8:
      return ReadScalar<int8_t, int64_t>(type);
    case GgufType::kInt16:
      return ReadScalar<int16_t, int64_t>(type);
    case GgufType::kInt32:
      return ReadScalar<int32_t, int64_t>(type);
    case GgufType::kInt64:
      return ReadScalar<int64_t, int64_t>(type);
    case GgufType::kFloat32:
      return ReadScalar<float, double>(type);
    case GgufType::kFloat64:
      return ReadScalar<double, double>(type);
    case GgufType::kArray:
      return ReadArray();
    case GgufType::kBool: {
      uint8_t bit = 0;
      if (!reader_.Read(&bit)) return Truncated("a bool");
      if (bit > 1) return Fail(Code::kCorrupt, "a bool is stored as {}; it must be 0 or 1", bit);
      return GgufValue{type, type, bit == 1};
    }
    case GgufType::kString: {
      std::string_view text;
      if (!reader_.ReadString(&text)) return Truncated("a string");
      return GgufValue{type, type, std::string(text)};
    }
  }
  return Fail(Code::kCorrupt, "{} is not a value type", static_cast<uint32_t>(type));
}

template <typename Stored, typename Wide>
Result<GgufValue> GgufReader::ReadScalar(GgufType type) {
  Stored stored{};
  if (!reader_.Read(&stored)) return Truncated("a value");
  return GgufValue{type, type, static_cast<Wide>(stored)};
}

Result<GgufValue> GgufReader::ReadArray() {
  GgufValue value;
  value.type = GgufType::kArray;
  uint64_t count = 0;
  if (!reader_.Read(&value.element_type) || !reader_.Read(&count)) return Truncated("the head of an array");
  if (!IsKnown(value.element_type)) {
    return Fail(Code::kCorrupt, "{} is not a value type", static_cast<uint32_t>(value.element_type));
  }
  if (count > kMaxArrayElems - array_elems_) {
    return Fail(Code::kCorrupt, "an array of {} elements: the arrays of one file may hold {} in all", count,
                kMaxArrayElems);
  }
  array_elems_ += count;
  Status read;
  switch (value.element_type) {
    case GgufType::kUint8:
      read = ReadNumbers<uint8_t, uint64_t>(count, &value);
      break;
    case GgufType::kUint16:
      read = ReadNumbers<uint16_t, uint64_t>(count, &value);
      break;
    case GgufType::kUint32:
      read = ReadNumbers<uint32_t, uint64_t>(count, &value);
      break;
    case GgufType::kUint64:
      read = ReadNumbers<uint64_t, uint64_t>(count, &value);
      break;
    case GgufType::kInt8:
      read = ReadNumbers<int8_t, int64_t>(count, &value);
      break;
    case GgufType::kInt16:
      read = ReadNumbers<int16_t, int64_t>(count, &value);
      break;
    case GgufType::kInt32:
      read = ReadNumbers<int32_t, int64_t>(count, &value);
      break;
    case GgufType::kInt64:
      read = ReadNumbers<int64_t, int64_t>(count, &value);
      break;
    case GgufType::kFloat32:
      read = ReadNumbers<float, double>(count, &value);
      break;
    case GgufType::kFloat64:
      read = ReadNumbers<double, double>(count, &value);
      break;
    case GgufType::kBool:
      read = ReadBools(count, &value);
      break;
    case GgufType::kString:
      read = ReadStrings(count, &value);
      break;
    case GgufType::kArray:
      return Fail(Code::kUnsupported, "nested arrays are not supported");
  }
  if (!read) return tl::unexpected(std::move(read).error());
  return value;
}

template <typename Stored, typename Wide>
Status GgufReader::ReadNumbers(uint64_t count, GgufValue* value) {
  std::span<const std::byte> stored;
  if (count > reader_.remaining() / sizeof(Stored) || !reader_.ReadBytes(count * sizeof(Stored), &stored)) {
    return Truncated(fmt::format("an array of {} numbers", count));
  }
  auto& numbers = value->data.emplace<std::vector<Wide>>(count);
  for (uint64_t i = 0; i < count; ++i) {
    Stored number;
    std::memcpy(&number, stored.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = static_cast<Wide>(number);
  }
  return {};
}

Status GgufReader::ReadBools(uint64_t count, GgufValue* value) {
  std::span<const std::byte> stored;
  if (!reader_.ReadBytes(count, &stored)) return Truncated(fmt::format("an array of {} bools", count));
  auto& bits = value->data.emplace<std::vector<bool>>(count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto bit = static_cast<uint8_t>(stored[i]);
    if (bit > 1) return Fail(Code::kCorrupt, "element {} of an array of bools is {}; it must be 0 or 1", i, bit);
    bits[i] = bit == 1;
  }
  return {};
}

Status GgufReader::ReadStrings(uint64_t count, GgufValue* value) {
  if (count > reader_.remaining() / sizeof(uint64_t)) return Truncated(fmt::format("an array of {} strings", count));
  auto& strings = value->data.emplace<std::vector<std::string_view>>(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (!reader_.ReadString(&strings[i])) return Truncated(fmt::format("string {} of {}", i, count));
  }
  return {};
}

}  // namespace quern::format
