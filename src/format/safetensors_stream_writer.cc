#include "format/safetensors_stream_writer.h"

#include <algorithm>

#include "base/json.h"
#include "format/quoted.h"

namespace quern::format {

bool IsSafetensorsType(DType dtype) { return !InfoOf(dtype).is_quantized; }

Status SafetensorsStreamWriter::AddTensor(std::string_view name, DType dtype, const Shape& shape) {
  QUERN_CHECK(!file_);
  if (!IsSafetensorsType(dtype)) {
    return WithHint(
        Fail(Code::kUnsupported, "tensor {} is {}, which safetensors cannot hold", Quoted(name), NameOf(dtype)),
        "decode it to F32, F16 or BF16, or write GGUF");
  }
  if (name.empty() || name == "__metadata__" || std::ranges::find(tensors_, name, &Declared::name) != tensors_.end()) {
    return Fail(Code::kInvalidArgument, "{} cannot be the name of a tensor, or is used twice", Quoted(name));
  }
  if (!tensors_.empty() && InfoOf(dtype).block_bytes > InfoOf(tensors_.back().dtype).block_bytes) {
    return Fail(Code::kInvalidArgument, "tensor {} has larger elements than the one before it", Quoted(name));
  }
  tensors_.push_back({std::string(name), dtype, shape});
  expected_bytes_ += shape.num_elems() * InfoOf(dtype).block_bytes;
  return {};
}

Result<std::string> SafetensorsStreamWriter::Header(
    const std::map<std::string, std::string, std::less<>>& metadata) const {
  // Keys and values that are not UTF-8 make dump() throw: the one exception possible here.
  try {
    OrderedJson header = OrderedJson::object();
    OrderedJson::object_t& members = header.get_ref<OrderedJson::object_t&>();
    if (!metadata.empty()) members.emplace_back("__metadata__", OrderedJson(metadata));
    int64_t begin = 0;
    for (const Declared& tensor : tensors_) {
      OrderedJson dims = OrderedJson::array();
      for (int axis = 0; axis < tensor.shape.rank(); ++axis) dims.push_back(tensor.shape[axis]);
      const int64_t end = begin + tensor.shape.num_elems() * InfoOf(tensor.dtype).block_bytes;
      // emplace_back on the underlying vector: operator[] would search all earlier names for each new one.
      members.emplace_back(
          tensor.name,
          OrderedJson{{"dtype", NameOf(tensor.dtype)}, {"shape", std::move(dims)}, {"data_offsets", {begin, end}}});
      begin = end;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
  } catch (const std::exception& error) {
    return Fail(Code::kInvalidArgument, "the names of tensors and metadata must be UTF-8: {}", error.what());
  }
}

Status SafetensorsStreamWriter::Begin(const std::filesystem::path& path,
                                      const std::map<std::string, std::string, std::less<>>& metadata,
                                      AtomicFile::IfExists if_exists) {
  QUERN_ASSIGN_OR_RETURN(const std::string header, Header(metadata));
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, if_exists));
  file_.emplace(std::move(file));
  const uint64_t size = header.size();
  QUERN_TRY(file_->Write(std::as_bytes(std::span(&size, 1))));
  QUERN_TRY(file_->Write(header));
  header_bytes_ = file_->size_bytes();
  return {};
}

Status SafetensorsStreamWriter::AppendTensorData(std::span<const std::byte> bytes) {
  QUERN_CHECK(file_.has_value());
  return file_->Write(bytes);
}

Status SafetensorsStreamWriter::Finish() {
  QUERN_CHECK(file_.has_value());
  const uint64_t written = file_->size_bytes() - header_bytes_;
  if (written != static_cast<uint64_t>(expected_bytes_)) {
    return Fail(Code::kInternal, "{} bytes of tensors were written, {} were declared", written, expected_bytes_);
  }
  return file_->Commit();
}

}  // namespace quern::format
