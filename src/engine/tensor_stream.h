// TensorStream: the bytes of one exported tensor, block of rows by block of rows: decoded, shifted, encoded, handed on.
// Memory is a few blocks whatever the tensor's size, and rows are spread over a thread team; the bytes do not depend on
// it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_team.h"
#include "format/importance_matrix.h"
#include "models/tensor_export.h"

namespace quern::engine {

class TensorStream {
 public:
  // Receives the destination's bytes in order. An error ends the stream with it.
  using Sink = std::function<Status(std::span<const std::byte>)>;

  // `importance` may be null. Both must outlive the stream. One thread at a time.
  TensorStream(ThreadTeam& team, const format::ImportanceMatrix* importance);

  // Corrupt when the importance matrix has the tensor with another width; InvalidArgument when a value cannot be stored
  // (not finite, too large for the type).
  Status Write(const models::ExportTensor& tensor, const Sink& sink);

 private:
  struct Importance {
    std::span<const float> values;
    int64_t rows_per_set = 0;  // rows that share one set of K weights
  };
  Result<Importance> FindImportance(const models::ExportTensor& tensor) const;
  Status Copy(const models::ExportTensor& tensor, const Sink& sink) const;
  Status ConvertRows(const models::ExportTensor& tensor, const Importance& importance, int64_t begin, int64_t end);
  Status ConvertRow(const models::ExportTensor& tensor, const Importance& importance, int64_t row,
                    std::span<float> scratch, std::byte* out) const;

  ThreadTeam& team_;
  const format::ImportanceMatrix* importance_;
  std::vector<std::byte> block_;
  std::vector<std::vector<float>> scratch_;  // by member: one decoded row
};

}  // namespace quern::engine
