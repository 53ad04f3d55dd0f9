// The typed look-ups of GgufFile.
#include <limits>
#include <utility>

#include "format/gguf.h"
#include "format/quoted.h"

namespace quern::format {
namespace {

using Metadata = std::map<std::string, GgufValue, std::less<>>;

const GgufValue* FindValue(const Metadata& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

tl::unexpected<Error> WrongType(std::string_view key, std::string_view wanted, const GgufValue& value) {
  const std::string found = value.type == GgufType::kArray ? fmt::format("an array of {}", NameOf(value.element_type))
                                                           : std::string(NameOf(value.type));
  return Fail(Code::kCorrupt, "metadata key {} is {}; {} was expected", Quoted(key), found, wanted);
}

Result<int64_t> Signed(std::string_view key, uint64_t number) {
  if (number > uint64_t{std::numeric_limits<int64_t>::max()}) {
    return Fail(Code::kCorrupt, "metadata key {}: {} is over 2^63", Quoted(key), number);
  }
  return static_cast<int64_t>(number);
}

// The value if it is held as T.
template <typename T>
std::optional<T> Held(const GgufValue& value) {
  const T* held = std::get_if<T>(&value.data);
  return held == nullptr ? std::nullopt : std::optional<T>(*held);
}

Result<std::optional<int64_t>> ScalarInt(std::string_view key, const GgufValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value.data)) return *number;
  if (const auto* number = std::get_if<uint64_t>(&value.data)) return Signed(key, *number);
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> GgufFile::GetString(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (auto text = Held<std::string>(*value)) return text;
  return WrongType(key, "a string", *value);
}

Result<std::optional<int64_t>> GgufFile::GetInt(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> number, ScalarInt(key, *value));
  if (number) return number;
  return WrongType(key, "an integer", *value);
}

Result<std::optional<double>> GgufFile::GetFloat(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (const auto number = Held<double>(*value)) return number;
  return WrongType(key, "a float", *value);
}

Result<std::optional<bool>> GgufFile::GetBool(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (const auto bit = Held<bool>(*value)) return bit;
  return WrongType(key, "a bool", *value);
}

Result<std::optional<std::vector<int64_t>>> GgufFile::GetInts(std::string_view key, int64_t repeat) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (auto numbers = Held<std::vector<int64_t>>(*value)) return numbers;
  if (const auto* numbers = std::get_if<std::vector<uint64_t>>(&value->data)) {
    std::vector<int64_t> narrowed;
    narrowed.reserve(numbers->size());
    for (const uint64_t number : *numbers) {
      QUERN_ASSIGN_OR_RETURN(const int64_t as_signed, Signed(key, number));
      narrowed.push_back(as_signed);
    }
    return narrowed;
  }
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> number, ScalarInt(key, *value));
  if (number && repeat > 0) return std::vector<int64_t>(static_cast<size_t>(repeat), *number);
  return WrongType(key, repeat > 0 ? "an integer or an array of integers" : "an array of integers", *value);
}

Result<std::optional<std::vector<double>>> GgufFile::GetFloats(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (auto numbers = Held<std::vector<double>>(*value)) return numbers;
  return WrongType(key, "an array of floats", *value);
}

Result<std::optional<std::vector<bool>>> GgufFile::GetBools(std::string_view key, int64_t repeat) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  if (auto bits = Held<std::vector<bool>>(*value)) return bits;
  if (const auto bit = Held<bool>(*value); bit && repeat > 0)
    return std::vector<bool>(static_cast<size_t>(repeat), *bit);
  return WrongType(key, repeat > 0 ? "a bool or an array of bools" : "an array of bools", *value);
}

Result<std::optional<std::span<const std::string_view>>> GgufFile::GetStrings(std::string_view key) const {
  const GgufValue* value = FindValue(metadata_, key);
  if (value == nullptr) return std::nullopt;
  const auto* strings = std::get_if<std::vector<std::string_view>>(&value->data);
  if (strings == nullptr) return WrongType(key, "an array of strings", *value);
  return std::span<const std::string_view>(*strings);
}

}  // namespace quern::format
