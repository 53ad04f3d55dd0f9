// TensorTable: the named tensors of one model, wherever they came from. Views point into mapped files that the table
// keeps alive, so copying the table is cheap and a model may hold views as long as it holds the table.
// Immutable after the reader returns it: any thread may read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/tensor_view.h"

namespace quern {

struct TensorTable {
  // By name, sorted. Shapes outermost first (GGUF's reversed order is turned round by its reader).
  std::map<std::string, TensorView, std::less<>> tensors;
  std::vector<std::shared_ptr<const MappedFile>> files;

  const TensorView* Find(std::string_view name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  }
  int64_t total_bytes() const {
    int64_t bytes = 0;
    for (const auto& [name, view] : tensors) bytes += view.num_bytes();
    return bytes;
  }
};

}  // namespace quern
