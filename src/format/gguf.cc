#include "format/gguf.h"

#include <array>
#include <limits>
#include <utility>

#include "format/gguf_reader.h"
#include "format/quoted.h"

namespace quern::format {
namespace {

// The place of a file in a split model; a file that is whole is part 0 of 1.
struct SplitInfo {
  int64_t no = 0;
  int64_t count = 1;
  int64_t num_tensors = 0;  // in all parts
};

Result<SplitInfo> ReadSplitInfo(const GgufFile& file) {
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> count, file.GetInt("split.count"));
  if (!count || *count == 0) return SplitInfo{};  // gguf-split writes 0 into a file it merged
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> no, file.GetInt("split.no"));
  QUERN_ASSIGN_OR_RETURN(const std::optional<int64_t> num_tensors, file.GetInt("split.tensors.count"));
  if (!no || !num_tensors) {
    return Fail(Code::kCorrupt, "split.count is {}, but split.no or split.tensors.count is missing", *count);
  }
  if (*count < 1 || *no < 0 || *no >= *count || *num_tensors < 0) {
    return Fail(Code::kCorrupt, "part {} of {} with {} tensors in all is impossible", *no, *count, *num_tensors);
  }
  return SplitInfo{*no, *count, *num_tensors};
}

// The file name of part `no`, counted from 0: "<prefix>-00001-of-00003.gguf".
std::string SplitSuffix(int64_t no, int64_t count) { return fmt::format("-{:05}-of-{:05}.gguf", no + 1, count); }

Result<GgufFile> OpenOne(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(auto mapped, MappedFile::Open(path));
  Result<GgufFile> file = GgufReader::Read(mapped->bytes());
  if (!file) return WithFrame(std::move(file).error(), path.string());
  GgufReader::HoldFile(std::move(mapped), &*file);
  return file;
}

// Opens part `no` and requires that it says so itself.
Result<GgufFile> OpenPart(const std::filesystem::path& path, int64_t no, const SplitInfo& expected) {
  Result<GgufFile> part = OpenOne(path);
  if (!part && part.error().code == Code::kNotFound) {
    return WithHint(Fail(Code::kNotFound, "{} is missing: it is part {} of a model split in {} files", path.string(),
                         no + 1, expected.count),
                    "all parts must lie in one folder");
  }
  if (!part) return part;
  QUERN_ASSIGN_OR_RETURN(const SplitInfo info, ReadSplitInfo(*part));
  if (info.no != no || info.count != expected.count || info.num_tensors != expected.num_tensors) {
    return Fail(Code::kCorrupt,
                "{} says it is part {} of {} with {} tensors in all; part {} of {} with {} was expected", path.string(),
                info.no + 1, info.count, info.num_tensors, no + 1, expected.count, expected.num_tensors);
  }
  return part;
}

Result<GgufFile> OpenSplit(const std::filesystem::path& path, const SplitInfo& split) {
  const std::string name = path.filename().string();
  const std::string suffix = SplitSuffix(split.no, split.count);
  if (!name.ends_with(suffix)) {
    return WithHint(Fail(Code::kNotFound,
                         "{} is part {} of {}, but its name does not end in {}, so its other parts "
                         "cannot be found",
                         path.string(), split.no + 1, split.count, suffix),
                    "give the parts the names they were published under");
  }
  const std::string prefix = name.substr(0, name.size() - suffix.size());
  const auto path_of = [&](int64_t no) { return path.parent_path() / (prefix + SplitSuffix(no, split.count)); };
  // The first part carries the metadata of the model.
  QUERN_ASSIGN_OR_RETURN(GgufFile whole, OpenPart(path_of(0), 0, split));
  for (int64_t no = 1; no < split.count; ++no) {
    QUERN_ASSIGN_OR_RETURN(GgufFile part, OpenPart(path_of(no), no, split));
    if (Status added = GgufReader::AddPart(std::move(part), &whole); !added) {
      return WithFrame(std::move(added).error(), path_of(no).string());
    }
  }
  if (whole.tensors().tensors.size() != static_cast<uint64_t>(split.num_tensors)) {
    return Fail(Code::kCorrupt, "the parts of {} hold {} tensors; split.tensors.count says {}", path.string(),
                whole.tensors().tensors.size(), split.num_tensors);
  }
  return whole;
}

}  // namespace

std::string_view NameOf(GgufType type) {
  constexpr std::array<std::string_view, 13> kNames = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                       "int32",  "float32", "bool",   "string", "array",
                                                       "uint64", "int64",   "float64"};
  const auto index = static_cast<size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

Result<GgufFile> GgufFile::Open(const std::filesystem::path& path) {
  QUERN_ASSIGN_OR_RETURN(GgufFile file, OpenOne(path));
  Result<SplitInfo> split = ReadSplitInfo(file);
  if (!split) return WithFrame(std::move(split).error(), path.string());
  if (split->count > 1) {
    QUERN_ASSIGN_OR_RETURN(file, OpenSplit(path, *split));
  }
  GgufReader::DropSplitKeys(&file);
  return file;
}

Result<GgufFile> GgufFile::Parse(std::span<const std::byte> bytes) {
  QUERN_ASSIGN_OR_RETURN(GgufFile file, GgufReader::Read(bytes));
  QUERN_ASSIGN_OR_RETURN(const SplitInfo split, ReadSplitInfo(file));
  if (split.count > 1) {
    return Fail(Code::kUnsupported, "part {} of {} of a split file cannot be read from memory", split.no + 1,
                split.count);
  }
  GgufReader::DropSplitKeys(&file);
  return file;
}

}  // namespace quern::format
