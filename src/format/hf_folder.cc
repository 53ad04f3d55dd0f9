#include "format/hf_folder.h"

#include <string>
#include <utility>

#include "base/file.h"

namespace quern::format {
namespace {

constexpr size_t kMaxConfigBytes = size_t{16} << 20;

// nullopt when there is no such file.
Result<std::optional<Json>> ReadConfig(const std::filesystem::path& path) {
  const Result<std::string> text = ReadFile(path, kMaxConfigBytes);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return tl::unexpected(text.error());
  QUERN_ASSIGN_OR_RETURN(Json config, ParseHfConfig(*text, path.string()));
  return std::optional<Json>(std::move(config));
}

}  // namespace

Result<Json> ParseHfConfig(std::string_view text, std::string_view what) {
  QUERN_ASSIGN_OR_RETURN(Json config, ParseJson(text, what));
  if (!config.is_object())
    return Fail(Code::kCorrupt, "{}: the top value is {}, not an object", what, config.type_name());
  return config;
}

Result<HfFolder> OpenHfFolder(const std::filesystem::path& path, WithWeights with_weights) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return Fail(Code::kNotFound, "{} is not a folder", path.string());
  }
  HfFolder folder;
  folder.path = path;
  QUERN_ASSIGN_OR_RETURN(std::optional<Json> config, ReadConfig(path / "config.json"));
  if (!config) {
    return WithHint(Fail(Code::kNotFound, "{} has no config.json", path.string()),
                    "a model folder holds config.json, model.safetensors and tokenizer.json; fetch the missing files");
  }
  folder.config = std::move(*config);
  QUERN_ASSIGN_OR_RETURN(folder.generation_config, ReadConfig(path / "generation_config.json"));
  QUERN_ASSIGN_OR_RETURN(folder.tokenizer_config, ReadConfig(path / "tokenizer_config.json"));
  if (with_weights == WithWeights::kYes) {
    QUERN_ASSIGN_OR_RETURN(folder.weights, OpenSafetensors(path));
  }
  return folder;
}

}  // namespace quern::format
