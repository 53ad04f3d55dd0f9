#include "format/importance_matrix.h"

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "format/gguf.h"
#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";
constexpr int32_t kMaxLegacyNameBytes = 1024;

std::vector<float> Floats(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.shape.num_elems()));
  std::memcpy(values.data(), view.data, values.size() * sizeof(float));
  return values;
}

// Fields of the older form: little-endian 32-bit numbers and raw floats.
class LegacyReader {
 public:
  LegacyReader(std::span<const std::byte> bytes, std::string path) : bytes_(bytes), path_(std::move(path)) {}

  Result<int32_t> Int(std::string_view field, int32_t low, int32_t high) {
    int32_t value = 0;
    QUERN_TRY(Copy(field, &value, sizeof(value)));
    if (value < low || value > high) {
      return Fail(Code::kCorrupt, "{}: {} is {}, expected {} to {}", path_, field, value, low, high);
    }
    return value;
  }
  Status Copy(std::string_view field, void* to, size_t num_bytes) {
    if (num_bytes > remaining()) return Fail(Code::kCorrupt, "{}: the file ends inside {}", path_, field);
    std::memcpy(to, bytes_.data() + at_, num_bytes);
    at_ += num_bytes;
    return {};
  }
  size_t remaining() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
  size_t at_ = 0;
};

}  // namespace

Result<ImportanceMatrix> ImportanceMatrix::Open(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const bool is_gguf = file->bytes().size() >= 4 && std::memcmp(file->bytes().data(), "GGUF", 4) == 0;
  return is_gguf ? OpenGguf(path) : OpenLegacy(path);
}

Result<ImportanceMatrix> ImportanceMatrix::OpenGguf(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  ImportanceMatrix matrix;
  for (const auto& [name, sums] : file.tensors().tensors) {
    if (!name.ends_with(kSums)) continue;
    const std::string tensor = name.substr(0, name.size() - kSums.size());
    const TensorView* counts = file.tensors().Find(tensor + std::string(kCounts));
    if (counts == nullptr) return Fail(Code::kCorrupt, "{}: {} has no counts", path.string(), Quoted(tensor));
    if (sums.dtype != DType::kF32 || counts->dtype != DType::kF32) {
      return Fail(Code::kCorrupt, "{}: sums and counts of {} must be F32", path.string(), Quoted(tensor));
    }
    std::vector<float> values = Floats(sums);
    const std::vector<float> divisors = Floats(*counts);
    if (divisors.empty() || values.size() % divisors.size() != 0) {
      return Fail(Code::kCorrupt, "{}: {} has {} sums for {} counts", path.string(), Quoted(tensor), values.size(),
                  divisors.size());
    }
    // An expert that never ran says nothing: all its inputs count alike.
    const size_t width = values.size() / divisors.size();
    for (size_t i = 0; i < values.size(); ++i) {
      const float count = divisors[i / width];
      values[i] = count > 0 ? values[i] / count : 1.0f;
    }
    if (Status added = matrix.Add(tensor, std::move(values)); !added) return WithFrame(added.error(), path.string());
  }
  if (matrix.size() == 0) {
    return WithHint(Fail(Code::kCorrupt, "{} holds no importance matrix", path.string()),
                    "it is the output of llama.cpp's imatrix tool that is wanted, not a model");
  }
  return matrix;
}

Result<ImportanceMatrix> ImportanceMatrix::OpenLegacy(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  LegacyReader reader(file->bytes(), path.string());
  ImportanceMatrix matrix;
  QUERN_ASSIGN_OR_RETURN(const int32_t num_entries, reader.Int("the number of entries", 1, 1 << 20));
  for (int32_t entry = 0; entry < num_entries; ++entry) {
    QUERN_ASSIGN_OR_RETURN(const int32_t name_bytes, reader.Int("the length of a name", 1, kMaxLegacyNameBytes));
    std::string name(static_cast<size_t>(name_bytes), '\0');
    QUERN_TRY(reader.Copy("a name", name.data(), name.size()));
    QUERN_ASSIGN_OR_RETURN(const int32_t num_calls, reader.Int("a number of calls", 0, INT32_MAX));
    QUERN_ASSIGN_OR_RETURN(const int32_t num_values, reader.Int("a number of values", 1, INT32_MAX));
    if (static_cast<size_t>(num_values) * sizeof(float) > reader.remaining()) {
      return Fail(Code::kCorrupt, "{}: {} claims {} values, more than the file holds", path.string(), Quoted(name),
                  num_values);
    }
    std::vector<float> values(static_cast<size_t>(num_values));
    QUERN_TRY(reader.Copy("values", values.data(), values.size() * sizeof(float)));
    if (num_calls > 0) {
      for (float& value : values) value /= static_cast<float>(num_calls);
    }
    if (Status added = matrix.Add(name, std::move(values)); !added) return WithFrame(added.error(), path.string());
  }
  return matrix;
}

Status ImportanceMatrix::Add(std::string_view name, std::vector<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || values[i] < 0) {
      return Fail(Code::kCorrupt, "importance {} of {} is {}", i, Quoted(name), values[i]);
    }
  }
  if (!entries_.emplace(name, std::move(values)).second) return Fail(Code::kCorrupt, "{} occurs twice", Quoted(name));
  return {};
}

std::span<const float> ImportanceMatrix::Find(std::string_view tensor_name) const {
  const auto found = entries_.find(tensor_name);
  return found == entries_.end() ? std::span<const float>() : std::span<const float>(found->second);
}

}  // namespace quern::format
