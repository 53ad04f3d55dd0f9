#include "format/gguf_reader.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr uint32_t kMagic = 0x46554747;    // "GGUF", little-endian
constexpr uint64_t kMaxNameBytes = 65535;  // of a key, by the format's specification; used for tensor names too
// The smallest key-value pair: key length, one byte of key, type, one byte of value.
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;
// The smallest tensor info: name length, one byte of name, rank, one dimension, type, offset.
constexpr uint64_t kMinTensorInfoBytes = 8 + 1 + 4 + 8 + 4 + 8;

bool IsPrintableAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7E; });
}

}  // namespace

Result<GgufFile> GgufReader::Read(std::span<const std::byte> bytes) {
  GgufReader reader(bytes);
  QUERN_TRY(reader.ReadHeader());
  QUERN_TRY(reader.ReadMetadata());
  QUERN_TRY(reader.ReadAlignment());
  std::vector<Declared> tensors;
  tensors.reserve(reader.num_tensors_);
  for (uint64_t i = 0; i < reader.num_tensors_; ++i) {
    QUERN_ASSIGN_OR_RETURN(Declared tensor, reader.ReadTensorInfo());
    tensors.push_back(std::move(tensor));
  }
  QUERN_TRY(reader.PlaceTensors(std::move(tensors)));
  return std::move(reader.file_);
}

Status GgufReader::ReadHeader() {
  uint32_t magic = 0;
  if (!reader_.Read(&magic)) return Truncated("the magic");
  if (magic != kMagic)
    return Fail(Code::kCorrupt, "not a GGUF file: it does not begin with \"GGUF\"{}", LooksLike(bytes_));
  uint32_t version = 0;
  if (!reader_.Read(&version)) return Truncated("the version");
  if (version != 0 && (version & 0xFFFF) == 0) {
    return Fail(Code::kUnsupported, "big-endian GGUF files are not supported (version field {:#010x})", version);
  }
  if (version == 1) {
    return WithHint(Fail(Code::kUnsupported, "GGUF version 1 is not supported; versions 2 and 3 are"),
                    "convert the model again with a current converter");
  }
  if (version == 0) return Fail(Code::kCorrupt, "GGUF version 0 does not exist");
  if (version > 3)
    return Fail(Code::kUnsupported, "GGUF version {} is newer than this build; it reads 2 and 3", version);
  file_.version_ = version;

  if (!reader_.Read(&num_tensors_) || !reader_.Read(&num_keys_)) return Truncated("the counts of tensors and keys");
  // Checked before anything is reserved: a count that the rest of the file cannot hold is refused here.
  if (num_keys_ > reader_.remaining() / kMinPairBytes) {
    return Fail(Code::kCorrupt, "{} metadata keys do not fit in the {} bytes that follow", num_keys_,
                reader_.remaining());
  }
  if (num_tensors_ > reader_.remaining() / kMinTensorInfoBytes) {
    return Fail(Code::kCorrupt, "{} tensors do not fit in the {} bytes that follow", num_tensors_, reader_.remaining());
  }
  return {};
}

Status GgufReader::ReadMetadata() {
  for (uint64_t i = 0; i < num_keys_; ++i) {
    QUERN_ASSIGN_OR_RETURN(const std::string_view key, ReadName("a metadata key"));
    Result<GgufValue> value = ReadValue();
    if (!value) return WithFrame(std::move(value).error(), fmt::format("metadata key {}", Quoted(key)));
    if (!file_.metadata_.emplace(key, std::move(*value)).second) {
      return Fail(Code::kCorrupt, "metadata key {} occurs twice", Quoted(key));
    }
  }
  return {};
}

Status GgufReader::ReadAlignment() {
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> alignment, file_.GetInt("general.alignment"));
  if (!alignment) return {};
  if (*alignment < 8 || !std::has_single_bit(static_cast<uint64_t>(*alignment))) {
    return Fail(Code::kCorrupt, "general.alignment is {}; it must be a power of two and at least 8", *alignment);
  }
  file_.alignment_ = static_cast<uint64_t>(*alignment);
  return {};
}

Result<GgufReader::Declared> GgufReader::ReadTensorInfo() {
  Declared tensor;
  QUERN_ASSIGN_OR_RETURN(tensor.name, ReadName("a tensor name"));
  const auto in_tensor = [&](Error error) {
    return WithFrame(std::move(error), fmt::format("tensor {}", Quoted(tensor.name)));
  };
  if (Status shape = ReadShape(&tensor); !shape) return in_tensor(std::move(shape).error());
  uint32_t ggml_type = 0;
  if (!reader_.Read(&ggml_type) || !reader_.Read(&tensor.offset)) {
    return in_tensor(Truncated("the type and offset").value());
  }
  Result<DType> dtype = DTypeFromGgml(ggml_type);
  if (!dtype) return in_tensor(std::move(dtype).error());
  tensor.view.dtype = *dtype;

  const DTypeInfo& info = InfoOf(*dtype);
  const int64_t row_elems = tensor.view.shape.back();
  if (row_elems % info.block_elems != 0) {
    return in_tensor(Fail(Code::kCorrupt, "rows of {} elements are not a multiple of the {} elements of a {} block",
                          row_elems, info.block_elems, info.name)
                         .value());
  }
  const auto num_blocks = static_cast<uint64_t>(tensor.view.shape.num_elems() / info.block_elems);
  if (__builtin_mul_overflow(num_blocks, static_cast<uint64_t>(info.block_bytes), &tensor.num_bytes)) {
    return in_tensor(Fail(Code::kCorrupt, "shape {} has more than 2^64 bytes", tensor.view.shape.ToString()).value());
  }
  return tensor;
}

Status GgufReader::ReadShape(Declared* tensor) {
  uint32_t rank = 0;
  if (!reader_.Read(&rank)) return Truncated("the number of dimensions");
  if (rank < 1 || rank > Shape::kMaxRank) {
    return Fail(Code::kCorrupt, "it has {} dimensions; 1 to {} are possible", rank, Shape::kMaxRank);
  }
  uint64_t dims[Shape::kMaxRank] = {};
  uint64_t num_elems = 1;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (!reader_.Read(&dims[axis])) return Truncated("a dimension");
    if (dims[axis] == 0 || __builtin_mul_overflow(num_elems, dims[axis], &num_elems) ||
        num_elems > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return Fail(Code::kCorrupt, "dimension {} is {}; it must be positive and the product stay below 2^63", axis,
                  dims[axis]);
    }
  }
  // The file writes the contiguous dimension first, Shape writes it last.
  for (uint32_t axis = rank; axis > 0; --axis) tensor->view.shape.Append(static_cast<int64_t>(dims[axis - 1]));
  return {};
}

Status GgufReader::PlaceTensors(std::vector<Declared> tensors) {
  if (tensors.empty()) return {};
  // Cannot overflow: the position is at most the file's size, and a larger alignment than that fails the comparison.
  const uint64_t position = reader_.position();
  const uint64_t padding = (file_.alignment_ - position % file_.alignment_) % file_.alignment_;
  if (padding > reader_.remaining()) return Truncated("the padding before the tensor data");
  const std::span<const std::byte> data = bytes_.subspan(position + padding);

  std::ranges::sort(tensors, {}, &Declared::offset);
  uint64_t previous_end = 0;
  for (Declared& tensor : tensors) {
    const std::string name = Quoted(tensor.name);
    if (tensor.offset % file_.alignment_ != 0) {
      return Fail(Code::kCorrupt, "tensor {}: offset {} is not a multiple of the alignment {}", name, tensor.offset,
                  file_.alignment_);
    }
    if (tensor.offset > data.size() || tensor.num_bytes > data.size() - tensor.offset) {
      return WithHint(Fail(Code::kCorrupt, "tensor {}: {} bytes at offset {} reach beyond the {} bytes of tensor data",
                           name, tensor.num_bytes, tensor.offset, data.size()),
                      "the file is truncated: fetch it again");
    }
    if (tensor.offset < previous_end) {
      return Fail(Code::kCorrupt, "tensor {}: offset {} lies inside the tensor before it, which ends at {}", name,
                  tensor.offset, previous_end);
    }
    previous_end = tensor.offset + tensor.num_bytes;
    tensor.view.data = data.data() + tensor.offset;
    if (!file_.tensors_.tensors.emplace(tensor.name, tensor.view).second) {
      return Fail(Code::kCorrupt, "tensor {} occurs twice", name);
    }
  }
  return {};
}

Result<std::string_view> GgufReader::ReadName(std::string_view field) {
  const uint64_t start = reader_.position();
  std::string_view name;
  if (!reader_.ReadString(&name)) return Truncated(field);
  if (name.empty() || name.size() > kMaxNameBytes) {
    return Fail(Code::kCorrupt, "{} at byte {} has {} bytes; 1 to {} are allowed", field, start, name.size(),
                kMaxNameBytes);
  }
  if (!IsPrintableAscii(name)) {
    return Fail(Code::kCorrupt, "{} at byte {} is not printable ASCII: {}", field, start, Quoted(name));
  }
  return name;
}

tl::unexpected<Error> GgufReader::Truncated(std::string_view field) const {
  return Fail(Code::kCorrupt, "the file ends inside {} at byte {} of {}", field, reader_.position(), bytes_.size());
}

Status GgufReader::AddPart(GgufFile part, GgufFile* whole) {
  for (auto& [name, view] : part.tensors_.tensors) {
    if (!whole->tensors_.tensors.emplace(name, view).second) {
      return Fail(Code::kCorrupt, "tensor {} occurs in two parts", Quoted(name));
    }
  }
  for (auto& file : part.tensors_.files) whole->tensors_.files.push_back(std::move(file));
  return {};
}

void GgufReader::HoldFile(std::shared_ptr<const MappedFile> file, GgufFile* gguf) {
  gguf->tensors_.files.push_back(std::move(file));
}

void GgufReader::DropSplitKeys(GgufFile* gguf) {
  for (const std::string_view key : {"split.no", "split.count", "split.tensors.count"}) {
    if (const auto found = gguf->metadata_.find(key); found != gguf->metadata_.end()) gguf->metadata_.erase(found);
  }
}

}  // namespace quern::format
