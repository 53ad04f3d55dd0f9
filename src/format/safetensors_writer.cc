// WriteSafetensors. The header is written with the tensors in the order of their data.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "format/quoted.h"
#include "format/safetensors.h"

namespace quern::format {
namespace {

using Named = std::pair<std::string_view, const TensorView*>;

std::optional<std::string_view> SafetensorsName(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
      return NameOf(dtype);  // both formats spell these alike
    default:
      return std::nullopt;
  }
}

// Larger elements first: offsets then stay multiples of the element without padding, which the format forbids.
std::vector<Named> InFileOrder(const TensorTable& table) {
  std::vector<Named> tensors;
  tensors.reserve(table.tensors.size());
  for (const auto& [name, view] : table.tensors) tensors.emplace_back(name, &view);
  std::ranges::stable_sort(tensors, std::greater{},
                           [](const Named& tensor) { return InfoOf(tensor.second->dtype).block_bytes; });
  return tensors;
}

Result<std::string> HeaderText(const std::vector<Named>& tensors,
                               const std::map<std::string, std::string, std::less<>>& metadata) {
  // Keys and values that are not UTF-8 make dump() throw: the one exception possible here.
  try {
    OrderedJson header = OrderedJson::object();
    if (!metadata.empty()) {
      OrderedJson& entries = header["__metadata__"] = OrderedJson::object();
      for (const auto& [key, value] : metadata) entries[key] = value;
    }
    int64_t begin = 0;
    for (const auto& [name, view] : tensors) {
      if (name.empty() || name == "__metadata__") {
        return Fail(Code::kInvalidArgument, "{} cannot be the name of a tensor", Quoted(name));
      }
      const std::optional<std::string_view> dtype = SafetensorsName(view->dtype);
      if (!dtype) {
        return WithHint(Fail(Code::kUnsupported, "tensor {} is {}, which safetensors cannot hold", Quoted(name),
                             NameOf(view->dtype)),
                        "decode it to F32, F16 or BF16, or write GGUF");
      }
      OrderedJson dims = OrderedJson::array();
      for (int axis = 0; axis < view->shape.rank(); ++axis) dims.push_back(view->shape[axis]);
      const int64_t end = begin + view->num_bytes();
      // emplace_back on the underlying vector: operator[] would search all earlier names for each new one.
      header.get_ref<OrderedJson::object_t&>().emplace_back(
          std::string(name),
          OrderedJson{{"dtype", *dtype}, {"shape", std::move(dims)}, {"data_offsets", {begin, end}}});
      begin = end;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const std::exception& error) {
    return Fail(Code::kInvalidArgument, "the names of tensors and metadata must be UTF-8: {}", error.what());
  }
}

}  // namespace

Status WriteSafetensors(const std::filesystem::path& path, const TensorTable& tensors,
                        const std::map<std::string, std::string, std::less<>>& metadata,
                        AtomicFile::IfExists if_exists) {
  const std::vector<Named> ordered = InFileOrder(tensors);
  QUERN_ASSIGN_OR_RETURN(const std::string header, HeaderText(ordered, metadata));
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, if_exists));
  const uint64_t header_bytes = header.size();
  QUERN_TRY(file.Write(std::as_bytes(std::span(&header_bytes, 1))));
  QUERN_TRY(file.Write(header));
  // In slices, so that AtomicFile's buffer stays small next to a tensor of gigabytes.
  constexpr size_t kSliceBytes = size_t{1} << 20;
  for (const auto& [name, view] : ordered) {
    const std::span<const std::byte> data(view->data, static_cast<size_t>(view->num_bytes()));
    for (size_t begin = 0; begin < data.size(); begin += kSliceBytes) {
      QUERN_TRY(file.Write(data.subspan(begin, std::min(kSliceBytes, data.size() - begin))));
    }
  }
  return file.Commit();
}

}  // namespace quern::format
