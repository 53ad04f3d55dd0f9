#include "engine/tensor_stream.h"

#include <algorithm>
#include <mutex>

#include "tensor/codec.h"

namespace quern::engine {
namespace {

constexpr int64_t kBlockBytes = int64_t{8} << 20;

// Where an output row comes from: tensors are joined along the second last axis.
std::pair<const TensorView*, int64_t> SourceRow(const models::ExportTensor& tensor, int64_t row) {
  if (tensor.parts.size() == 1) return {&tensor.parts.front(), row};
  const int axis = tensor.shape.rank() - 2;
  const int64_t outer = row / tensor.shape[axis];
  int64_t inner = row % tensor.shape[axis];
  for (const TensorView& part : tensor.parts) {
    const int64_t part_rows = part.shape[axis];
    if (inner < part_rows) return {&part, outer * part_rows + inner};
    inner -= part_rows;
  }
  QUERN_CHECK(false);
}

}  // namespace

TensorStream::TensorStream(ThreadTeam& team, const format::ImportanceMatrix* importance)
    : team_(team), importance_(importance), scratch_(static_cast<size_t>(team.size())) {}

Status TensorStream::Write(const models::ExportTensor& tensor, const Sink& sink) {
  if (!tensor.generated.empty()) {
    QUERN_CHECK(tensor.to == DType::kF32);
    return sink(std::as_bytes(std::span(tensor.generated)));
  }
  if (tensor.from == tensor.to && tensor.offset == 0) return Copy(tensor, sink);
  QUERN_ASSIGN_OR_RETURN(const Importance importance, FindImportance(tensor));
  const int64_t row_bytes = TensorView::RowBytes(tensor.to, tensor.row_elems());
  const int64_t decoded_bytes = tensor.row_elems() * static_cast<int64_t>(sizeof(float));
  const int64_t rows_per_block = std::max<int64_t>(team_.size(), kBlockBytes / std::max(row_bytes, decoded_bytes));
  for (int64_t begin = 0; begin < tensor.num_rows(); begin += rows_per_block) {
    const int64_t end = std::min(tensor.num_rows(), begin + rows_per_block);
    block_.resize(static_cast<size_t>((end - begin) * row_bytes));
    QUERN_TRY(ConvertRows(tensor, importance, begin, end));
    QUERN_TRY(sink(block_));
  }
  return {};
}

Result<TensorStream::Importance> TensorStream::FindImportance(const models::ExportTensor& tensor) const {
  Importance importance;
  if (importance_ == nullptr || !InfoOf(tensor.to).is_quantized) return importance;
  importance.values = importance_->Find(tensor.canonical);
  if (importance.values.empty()) return importance;
  const auto num_values = static_cast<int64_t>(importance.values.size());
  const int64_t num_experts = tensor.shape.rank() == 3 ? tensor.shape[0] : 1;
  if (num_values == tensor.row_elems()) {
    importance.rows_per_set = tensor.num_rows();
  } else if (num_values == tensor.row_elems() * num_experts) {
    importance.rows_per_set = tensor.num_rows() / num_experts;
  } else {
    return WithHint(Fail(Code::kCorrupt, "the importance matrix has {} values for {}, whose rows have {}", num_values,
                         tensor.canonical, tensor.row_elems()),
                    "it was measured on another model");
  }
  return importance;
}

// The rows as they are, part by part, in pieces.
Status TensorStream::Copy(const models::ExportTensor& tensor, const Sink& sink) const {
  const auto copy = [&](const std::byte* data, int64_t num_bytes) -> Status {
    for (int64_t begin = 0; begin < num_bytes; begin += kBlockBytes) {
      QUERN_TRY(sink({data + begin, static_cast<size_t>(std::min(kBlockBytes, num_bytes - begin))}));
    }
    return {};
  };
  if (tensor.parts.size() == 1) return copy(tensor.parts.front().data, tensor.parts.front().num_bytes());
  const int axis = tensor.shape.rank() - 2;
  const int64_t num_outer = tensor.num_rows() / tensor.shape[axis];
  for (int64_t outer = 0; outer < num_outer; ++outer) {
    for (const TensorView& part : tensor.parts) {
      QUERN_TRY(copy(part.row(outer * part.shape[axis]), part.shape[axis] * part.row_bytes()));
    }
  }
  return {};
}

Status TensorStream::ConvertRows(const models::ExportTensor& tensor, const Importance& importance, int64_t begin,
                                 int64_t end) {
  const int64_t row_bytes = TensorView::RowBytes(tensor.to, tensor.row_elems());
  std::mutex mutex;
  Status status;
  int64_t failed_row = end;  // of several errors the first row's is reported, whoever was faster
  team_.Run([&](int member) {
    std::vector<float>& scratch = scratch_[static_cast<size_t>(member)];
    scratch.resize(static_cast<size_t>(tensor.row_elems()));
    const int64_t count = end - begin;
    const int64_t last = begin + count * (member + 1) / team_.size();
    for (int64_t row = begin + count * member / team_.size(); row < last; ++row) {
      Status converted = ConvertRow(tensor, importance, row, scratch, block_.data() + (row - begin) * row_bytes);
      if (converted) continue;
      const std::lock_guard lock(mutex);
      if (row < failed_row) {
        failed_row = row;
        status = WithFrame(std::move(converted).error(), fmt::format("{}, row {}", tensor.canonical, row));
      }
      return;
    }
  });
  return status;
}

Status TensorStream::ConvertRow(const models::ExportTensor& tensor, const Importance& importance, int64_t row,
                                std::span<float> scratch, std::byte* out) const {
  const auto [part, source_row] = SourceRow(tensor, row);
  DecodeRow(part->dtype, part->row(source_row), scratch);
  if (tensor.offset != 0) {
    for (float& value : scratch) value += tensor.offset;
  }
  std::span<const float> weights;
  if (!importance.values.empty()) {
    const int64_t set = row / importance.rows_per_set;
    weights = importance.values.subspan(static_cast<size_t>(set * tensor.row_elems()), scratch.size());
  }
  return EncodeRow(tensor.to, scratch, weights, out);
}

}  // namespace quern::engine
