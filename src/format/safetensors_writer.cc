// WriteSafetensors: a table of tensors through SafetensorsStreamWriter.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "format/safetensors.h"
#include "format/safetensors_stream_writer.h"

namespace quern::format {
namespace {

using Named = std::pair<std::string_view, const TensorView*>;

// Larger elements first: offsets then stay multiples of the element without padding, which the format forbids.
std::vector<Named> InFileOrder(const TensorTable& table) {
  std::vector<Named> tensors;
  tensors.reserve(table.tensors.size());
  for (const auto& [name, view] : table.tensors) tensors.emplace_back(name, &view);
  std::ranges::stable_sort(tensors, std::greater{},
                           [](const Named& tensor) { return InfoOf(tensor.second->dtype).block_bytes; });
  return tensors;
}

}  // namespace

Status WriteSafetensors(const std::filesystem::path& path, const TensorTable& tensors,
                        const std::map<std::string, std::string, std::less<>>& metadata,
                        AtomicFile::IfExists if_exists) {
  const std::vector<Named> ordered = InFileOrder(tensors);
  SafetensorsStreamWriter writer;
  for (const auto& [name, view] : ordered) QUERN_TRY(writer.AddTensor(name, view->dtype, view->shape));
  QUERN_TRY(writer.Begin(path, metadata, if_exists));
  // In slices, so that AtomicFile's buffer stays small next to a tensor of gigabytes.
  constexpr size_t kSliceBytes = size_t{1} << 20;
  for (const auto& [name, view] : ordered) {
    const std::span<const std::byte> data(view->data, static_cast<size_t>(view->num_bytes()));
    for (size_t begin = 0; begin < data.size(); begin += kSliceBytes) {
      QUERN_TRY(writer.AppendTensorData(data.subspan(begin, std::min(kSliceBytes, data.size() - begin))));
    }
  }
  return writer.Finish();
}

}  // namespace quern::format
