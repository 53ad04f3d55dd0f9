#include "format/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "format/byte_reader.h"
#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr std::array<NamedDType, 10> kDTypes = {{
    {"BF16", DType::kBF16},
    {"F16", DType::kF16},
    {"F32", DType::kF32},
    {"F64", DType::kF64},
    {"I8", DType::kI8},
    {"I16", DType::kI16},
    {"I32", DType::kI32},
    {"I64", DType::kI64},
    {"U8", DType::kI8},
    {"BOOL", DType::kI8},
}};

// A tensor as the header declares it; offsets count from the end of the header.
struct Declared {
  std::string name;
  TensorView view;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<DType> ReadDType(const Json& entry) {
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) return Fail(Code::kCorrupt, "dtype is missing or not a string");
  const auto& name = dtype->get_ref<const std::string&>();
  const auto found = std::ranges::find(kDTypes, std::string_view(name), &NamedDType::name);
  if (found == kDTypes.end()) return Fail(Code::kUnsupported, "dtype {} is not supported", Quoted(name));
  return found->dtype;
}

// Reads the shape and sets num_bytes to what it needs.
Result<Shape> ReadShape(const Json& entry, DType dtype, uint64_t* num_bytes) {
  const auto dims = entry.find("shape");
  if (dims == entry.end() || !dims->is_array()) return Fail(Code::kCorrupt, "shape is missing or not an array");
  if (dims->size() > Shape::kMaxRank) {
    return Fail(Code::kUnsupported, "{} dimensions; at most {} are supported", dims->size(), Shape::kMaxRank);
  }
  Shape shape;
  *num_bytes = static_cast<uint64_t>(InfoOf(dtype).block_bytes);
  for (const Json& dim : *dims) {
    if (!dim.is_number_unsigned()) return Fail(Code::kCorrupt, "shape holds something that is not a whole number");
    const auto size = dim.get<uint64_t>();
    if (size > uint64_t{std::numeric_limits<int64_t>::max()} || __builtin_mul_overflow(*num_bytes, size, num_bytes)) {
      return Fail(Code::kCorrupt, "dimension {} makes the tensor larger than 2^63 bytes", size);
    }
    shape.Append(static_cast<int64_t>(size));
  }
  return shape;
}

Result<Declared> ReadEntry(const std::string& name, const Json& entry) {
  if (!entry.is_object()) return Fail(Code::kCorrupt, "its entry is not an object");
  for (const auto& [field, value] : entry.items()) {
    if (field != "dtype" && field != "shape" && field != "data_offsets") {
      return Fail(Code::kUnsupported, "field {} is not known", Quoted(field));
    }
  }
  Declared tensor;
  tensor.name = name;
  QUERN_ASSIGN_OR_RETURN(tensor.view.dtype, ReadDType(entry));
  uint64_t num_bytes = 0;
  QUERN_ASSIGN_OR_RETURN(tensor.view.shape, ReadShape(entry, tensor.view.dtype, &num_bytes));
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned()) {
    return Fail(Code::kCorrupt, "data_offsets is not a pair of whole numbers");
  }
  tensor.begin = (*offsets)[0].get<uint64_t>();
  tensor.end = (*offsets)[1].get<uint64_t>();
  if (tensor.end < tensor.begin || tensor.end - tensor.begin != num_bytes) {
    return Fail(Code::kCorrupt, "data_offsets [{}, {}] do not span the {} bytes of {} {}", tensor.begin, tensor.end,
                num_bytes, NameOf(tensor.view.dtype), tensor.view.shape.ToString());
  }
  return tensor;
}

Status ReadMetadata(const Json& entry, SafetensorsFile* file) {
  if (!entry.is_object()) return Fail(Code::kCorrupt, "__metadata__ is not an object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) return Fail(Code::kCorrupt, "__metadata__ key {} is not a string", Quoted(key));
    file->metadata.emplace(key, value.get_ref<const std::string&>());
  }
  return {};
}

// Gives the declared tensors their bytes: they must fill `data` without gap or overlap.
Status PlaceTensors(std::vector<Declared> tensors, std::span<const std::byte> data, uint64_t data_begin,
                    SafetensorsFile* file) {
  std::ranges::sort(tensors, [](const Declared& a, const Declared& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t filled = 0;
  for (Declared& tensor : tensors) {
    const std::string name = Quoted(tensor.name);
    if (tensor.begin != filled) {
      return Fail(Code::kCorrupt, "tensor {} begins at {}; the tensor before it ends at {}", name, tensor.begin,
                  filled);
    }
    if (tensor.end > data.size()) {
      return WithHint(Fail(Code::kCorrupt, "tensor {} ends at {}, beyond the {} bytes of tensor data", name, tensor.end,
                           data.size()),
                      "the file is truncated: fetch it again");
    }
    const auto elem_bytes = static_cast<uint64_t>(InfoOf(tensor.view.dtype).block_bytes);
    if ((data_begin + tensor.begin) % elem_bytes != 0) {
      return WithHint(
          Fail(Code::kUnsupported, "tensor {} lies at byte {}, which is not a multiple of its {} byte elements", name,
               data_begin + tensor.begin, elem_bytes),
          "load and save the file once with a current version of safetensors");
    }
    filled = tensor.end;
    tensor.view.data = data.data() + tensor.begin;
    file->tensors.tensors.emplace(std::move(tensor.name), tensor.view);
  }
  if (filled != data.size()) {
    return Fail(Code::kCorrupt, "{} bytes follow the last tensor", data.size() - filled);
  }
  return {};
}

// Maps one file and reads it.
Result<SafetensorsFile> OpenOne(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(auto mapped, MappedFile::Open(path));
  Result<SafetensorsFile> file = ParseSafetensors(mapped->bytes());
  if (!file) return WithFrame(std::move(file).error(), path.string());
  file->tensors.files.push_back(std::move(mapped));
  return file;
}

// Shard name -> names of the tensors it must hold.
using Assignment = std::map<std::string, std::set<std::string, std::less<>>>;

Result<Assignment> ReadIndex(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  QUERN_ASSIGN_OR_RETURN(const Json index, ParseJson(text, path.string()));
  const auto weight_map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || weight_map == index.end() || !weight_map->is_object()) {
    return Fail(Code::kCorrupt, "{}: weight_map is missing or not an object", path.string());
  }
  Assignment shards;
  for (const auto& [tensor, shard] : weight_map->items()) {
    if (!shard.is_string()) {
      return Fail(Code::kCorrupt, "{}: the shard of {} is not a string", path.string(), Quoted(tensor));
    }
    const auto& name = shard.get_ref<const std::string&>();
    // A plain file name: an index must not reach outside its folder.
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return Fail(Code::kCorrupt, "{}: the shard {} of {} is not a file name", path.string(), Quoted(name),
                  Quoted(tensor));
    }
    shards[name].insert(tensor);
  }
  return shards;
}

Result<SafetensorsFile> OpenSharded(const std::filesystem::path& index_path) {
  QUERN_ASSIGN_OR_RETURN(const Assignment shards, ReadIndex(index_path));
  SafetensorsFile whole;
  for (const auto& [name, expected] : shards) {
    const std::filesystem::path path = index_path.parent_path() / name;
    QUERN_ASSIGN_OR_RETURN(SafetensorsFile shard, OpenOne(path));
    for (const std::string& tensor : expected) {
      if (shard.tensors.Find(tensor) == nullptr) {
        return Fail(Code::kCorrupt, "{} does not hold tensor {}, which the index assigns to it", path.string(),
                    Quoted(tensor));
      }
    }
    for (const auto& [tensor, view] : shard.tensors.tensors) {
      if (!expected.contains(tensor)) {
        return Fail(Code::kCorrupt, "{} holds tensor {}, which the index does not assign to it", path.string(),
                    Quoted(tensor));
      }
    }
    whole.tensors.tensors.merge(shard.tensors.tensors);
    whole.tensors.files.push_back(std::move(shard.tensors.files.front()));
    whole.metadata.merge(shard.metadata);
  }
  return whole;
}

}  // namespace

Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  uint64_t header_bytes = 0;
  if (!reader.Read(&header_bytes)) {
    return Fail(Code::kCorrupt, "a file of {} bytes has no room for the header length", bytes.size());
  }
  if (header_bytes > kMaxHeaderBytes || header_bytes > reader.remaining()) {
    return Fail(Code::kCorrupt, "the header length {} is over the limit of {} or the {} bytes that follow{}",
                header_bytes, kMaxHeaderBytes, reader.remaining(), LooksLike(bytes));
  }
  std::span<const std::byte> header;
  if (!reader.ReadBytes(header_bytes, &header) || header.empty() || header.front() != std::byte{'{'}) {
    return Fail(Code::kCorrupt, "the header does not begin with '{{'");
  }
  const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
  QUERN_ASSIGN_OR_RETURN(const Json entries, ParseJson(text, "the header"));

  SafetensorsFile file;
  std::vector<Declared> tensors;
  for (const auto& [name, entry] : entries.items()) {
    if (name == "__metadata__") {
      QUERN_TRY(ReadMetadata(entry, &file));
      continue;
    }
    Result<Declared> tensor = ReadEntry(name, entry);
    if (!tensor) return WithFrame(std::move(tensor).error(), fmt::format("tensor {}", Quoted(name)));
    tensors.push_back(std::move(*tensor));
  }
  const uint64_t data_begin = reader.position();
  QUERN_TRY(PlaceTensors(std::move(tensors), bytes.subspan(data_begin), data_begin, &file));
  return file;
}

Result<SafetensorsFile> OpenSafetensors(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (std::filesystem::exists(path / kSingleName, ignored)) return OpenOne(path / kSingleName);
    if (std::filesystem::exists(path / kIndexName, ignored)) return OpenSharded(path / kIndexName);
    return Fail(Code::kNotFound, "{} holds neither {} nor {}", path.string(), kSingleName, kIndexName);
  }
  if (path.extension() == ".json") return OpenSharded(path);
  return OpenOne(path);
}

}  // namespace quern::format
