#include "format/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr uint32_t kMagic = 0x46554747;
constexpr uint32_t kVersion = 3;
constexpr size_t kMaxNameBytes = 65535;
constexpr std::string_view kAlignmentKey = "general.alignment";

template <typename T>
void Put(T value, std::string* out) {
  static_assert(std::is_trivially_copyable_v<T>);
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutString(std::string_view text, std::string* out) {
  Put(uint64_t{text.size()}, out);
  out->append(text);
}

bool IsWritableName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::ranges::all_of(name, [](char c) { return c >= 0x20 && c <= 0x7E; });
}

// Writes a widened number in the width that `Stored` has; false when it does not fit.
template <typename Stored, typename Wide>
bool PutNarrow(Wide value, std::string* out) {
  if constexpr (std::is_integral_v<Wide> && !std::is_same_v<Wide, bool>) {
    if (!std::in_range<Stored>(value)) return false;
  }
  Put(static_cast<Stored>(value), out);
  return true;
}

template <typename Stored, typename Wide>
bool PutNumbers(const GgufValue& value, std::string* out) {
  if (const auto* number = std::get_if<Wide>(&value.data)) return PutNarrow<Stored>(*number, out);
  const auto* numbers = std::get_if<std::vector<Wide>>(&value.data);
  if (numbers == nullptr) return false;
  return std::ranges::all_of(*numbers, [&](Wide number) { return PutNarrow<Stored>(number, out); });
}

// The elements of one type, of a scalar or of an array; false when the value does not hold that type.
bool PutElements(GgufType type, const GgufValue& value, std::string* out) {
  switch (type) {
    case GgufType::kUint8:
      return PutNumbers<uint8_t, uint64_t>(value, out);
    case GgufType::kUint16:
      return PutNumbers<uint16_t, uint64_t>(value, out);
    case GgufType::kUint32:
      return PutNumbers<uint32_t, uint64_t>(value, out);
    case GgufType::kUint64:
      return PutNumbers<uint64_t, uint64_t>(value, out);
    case GgufType::kInt8:
      return PutNumbers<int8_t, int64_t>(value, out);
    case GgufType::kInt16:
      return PutNumbers<int16_t, int64_t>(value, out);
    case GgufType::kInt32:
      return PutNumbers<int32_t, int64_t>(value, out);
    case GgufType::kInt64:
      return PutNumbers<int64_t, int64_t>(value, out);
    case GgufType::kFloat32:
      return PutNumbers<float, double>(value, out);
    case GgufType::kFloat64:
      return PutNumbers<double, double>(value, out);
    case GgufType::kBool:
      return PutNumbers<uint8_t, bool>(value, out);
    case GgufType::kString: {
      if (const auto* text = std::get_if<std::string>(&value.data)) {
        PutString(*text, out);
        return true;
      }
      const auto* strings = std::get_if<std::vector<std::string_view>>(&value.data);
      if (strings == nullptr) return false;
      for (const std::string_view text : *strings) PutString(text, out);
      return true;
    }
    case GgufType::kArray:
      return false;
  }
  return false;
}

uint64_t NumElements(const GgufValue& value) {
  return std::visit(
      [](const auto& data) -> uint64_t {
        if constexpr (requires {
                        data.empty();
                        data.size();
                      }) {
          return data.size();
        } else {
          return 1;
        }
      },
      value.data);
}

// The value as the file holds it: type, then for an array element type and count, then the elements.
std::optional<std::string> Encode(const GgufValue& value) {
  const bool is_array = value.data.index() >= 5;
  if (is_array != (value.type == GgufType::kArray)) return std::nullopt;
  std::string encoded;
  Put(value.type, &encoded);
  if (is_array) {
    Put(value.element_type, &encoded);
    Put(NumElements(value), &encoded);
  }
  if (!PutElements(is_array ? value.element_type : value.type, value, &encoded)) return std::nullopt;
  return encoded;
}

template <typename Wide, typename Range>
GgufValue ArrayOf(GgufType element_type, const Range& values) {
  return {GgufType::kArray, element_type, std::vector<Wide>(values.begin(), values.end())};
}

}  // namespace

struct GgufWriter::State {
  struct Tensor {
    std::string name;
    DType dtype;
    Shape shape;
    uint64_t num_bytes;
  };

  std::vector<std::pair<std::string, std::string>> pairs;  // key, encoded value
  std::map<std::string, size_t, std::less<>> pair_index;
  uint64_t alignment = 32;
  Status first_fault;  // of a Set call; returned by Begin

  std::vector<Tensor> tensors;
  std::set<std::string, std::less<>> tensor_names;

  std::optional<AtomicFile> file;  // from Begin on
  size_t current = 0;              // tensor that takes the next bytes
  uint64_t written_bytes = 0;      // of it

  uint64_t PaddingAfter(uint64_t bytes) const { return (alignment - bytes % alignment) % alignment; }
  std::string Header() const;
};

GgufWriter::GgufWriter() : state_(std::make_unique<State>()) {}
GgufWriter::~GgufWriter() = default;
GgufWriter::GgufWriter(GgufWriter&&) noexcept = default;

void GgufWriter::SetString(std::string_view key, std::string_view value) {
  Set(key, {GgufType::kString, GgufType::kString, std::string(value)});
}
void GgufWriter::SetUint32(std::string_view key, uint32_t value) {
  Set(key, {GgufType::kUint32, GgufType::kUint32, uint64_t{value}});
}
void GgufWriter::SetFloat32(std::string_view key, float value) {
  Set(key, {GgufType::kFloat32, GgufType::kFloat32, double{value}});
}
void GgufWriter::SetBool(std::string_view key, bool value) { Set(key, {GgufType::kBool, GgufType::kBool, value}); }
void GgufWriter::SetInt32s(std::string_view key, std::span<const int32_t> values) {
  Set(key, ArrayOf<int64_t>(GgufType::kInt32, values));
}
void GgufWriter::SetUint32s(std::string_view key, std::span<const uint32_t> values) {
  Set(key, ArrayOf<uint64_t>(GgufType::kUint32, values));
}
void GgufWriter::SetFloat32s(std::string_view key, std::span<const float> values) {
  Set(key, ArrayOf<double>(GgufType::kFloat32, values));
}
void GgufWriter::SetBools(std::string_view key, const std::vector<bool>& values) {
  Set(key, {GgufType::kArray, GgufType::kBool, values});
}
void GgufWriter::SetStrings(std::string_view key, std::span<const std::string_view> values) {
  Set(key, ArrayOf<std::string_view>(GgufType::kString, values));
}

void GgufWriter::Set(std::string_view key, const GgufValue& value) {
  QUERN_CHECK(!state_->file);
  const auto refuse = [&](std::string_view why) {
    if (state_->first_fault) {
      state_->first_fault = Fail(Code::kInvalidArgument, "metadata key {} cannot be written: {}", Quoted(key), why);
    }
  };
  if (!IsWritableName(key)) return refuse("a key is 1 to 65535 bytes of printable ASCII");
  std::optional<std::string> encoded = Encode(value);
  if (!encoded) return refuse(fmt::format("its value does not fit its type {}", NameOf(value.type)));
  if (key == kAlignmentKey) {
    const auto* alignment = std::get_if<uint64_t>(&value.data);
    if (alignment == nullptr || *alignment < 8 || !std::has_single_bit(*alignment)) {
      return refuse("the alignment is an unsigned power of two, at least 8");
    }
    state_->alignment = *alignment;
  }
  const auto [found, is_new] = state_->pair_index.emplace(key, state_->pairs.size());
  if (is_new) {
    state_->pairs.emplace_back(key, std::move(*encoded));
  } else {
    state_->pairs[found->second].second = std::move(*encoded);
  }
}

Status GgufWriter::AddTensor(std::string_view name, DType dtype, const Shape& shape) {
  QUERN_CHECK(!state_->file);
  const auto refuse = [&](std::string_view why) {
    return Fail(Code::kInvalidArgument, "tensor {} {} cannot be written: {}", Quoted(name), shape.ToString(), why);
  };
  if (!IsWritableName(name)) return refuse("a name is 1 to 65535 bytes of printable ASCII");
  if (shape.rank() < 1) return refuse("it has no dimension");
  uint64_t num_bytes = static_cast<uint64_t>(InfoOf(dtype).block_bytes);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 1) return refuse("a dimension is not positive");
    if (__builtin_mul_overflow(num_bytes, static_cast<uint64_t>(shape[axis]), &num_bytes)) {
      return refuse("it has more than 2^64 bytes");
    }
  }
  if (shape.back() % InfoOf(dtype).block_elems != 0) {
    return refuse(fmt::format("rows of {} elements are not whole {} blocks", shape.back(), NameOf(dtype)));
  }
  if (!state_->tensor_names.emplace(name).second) return refuse("a tensor of this name has been added before");
  num_bytes /= static_cast<uint64_t>(InfoOf(dtype).block_elems);
  state_->tensors.push_back({std::string(name), dtype, shape, num_bytes});
  return {};
}

std::string GgufWriter::State::Header() const {
  std::string header;
  Put(kMagic, &header);
  Put(kVersion, &header);
  Put(uint64_t{tensors.size()}, &header);
  Put(uint64_t{pairs.size()}, &header);
  for (const auto& [key, encoded] : pairs) {
    PutString(key, &header);
    header += encoded;
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    PutString(tensor.name, &header);
    Put(static_cast<uint32_t>(tensor.shape.rank()), &header);
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis) Put(static_cast<uint64_t>(tensor.shape[axis]), &header);
    Put(InfoOf(tensor.dtype).ggml_type, &header);
    Put(offset, &header);
    offset += tensor.num_bytes + PaddingAfter(tensor.num_bytes);
  }
  header.append(PaddingAfter(header.size()), '\0');
  return header;
}

Status GgufWriter::Begin(const std::filesystem::path& path, AtomicFile::IfExists if_exists) {
  QUERN_CHECK(!state_->file);
  QUERN_TRY(state_->first_fault);
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, if_exists));
  QUERN_TRY(file.Write(state_->Header()));
  state_->file.emplace(std::move(file));
  return {};
}

Status GgufWriter::AppendTensorData(std::span<const std::byte> bytes) {
  QUERN_CHECK(state_->file.has_value());
  if (state_->current == state_->tensors.size()) {
    return Fail(Code::kInternal, "{} bytes were appended after the last tensor", bytes.size());
  }
  const State::Tensor& tensor = state_->tensors[state_->current];
  if (bytes.size() > tensor.num_bytes - state_->written_bytes) {
    return Fail(Code::kInternal, "tensor {}: {} bytes after {} are more than its {}", tensor.name, bytes.size(),
                state_->written_bytes, tensor.num_bytes);
  }
  // In slices, so that AtomicFile's buffer stays small next to a tensor of gigabytes.
  constexpr size_t kSliceBytes = size_t{1} << 20;
  for (size_t begin = 0; begin < bytes.size(); begin += kSliceBytes) {
    QUERN_TRY(state_->file->Write(bytes.subspan(begin, std::min(kSliceBytes, bytes.size() - begin))));
  }
  state_->written_bytes += bytes.size();
  if (state_->written_bytes == tensor.num_bytes) {
    QUERN_TRY(state_->file->Write(std::string(state_->PaddingAfter(tensor.num_bytes), '\0')));
    ++state_->current;
    state_->written_bytes = 0;
  }
  return {};
}

Status GgufWriter::Finish() {
  QUERN_CHECK(state_->file.has_value());
  if (state_->current < state_->tensors.size()) {
    const State::Tensor& tensor = state_->tensors[state_->current];
    return Fail(Code::kInternal, "tensor {} has {} of {} bytes", tensor.name, state_->written_bytes, tensor.num_bytes);
  }
  return state_->file->Commit();
}

}  // namespace quern::format
