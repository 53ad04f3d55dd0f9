#include "format/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "format/piece_type.h"
#include "format/quoted.h"

namespace quern::format {
namespace {

constexpr size_t kMaxCompanionBytes = size_t{16} << 20;

// The string of a token entry: "x" or {"content": "x", ...}; nullopt when it is absent or null.
Result<std::optional<std::string>> TokenString(const Json& config, std::string_view key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  const Json* text = &*found;
  if (found->is_object()) {
    const auto content = found->find("content");
    if (content != found->end()) text = &*content;
  }
  if (!text->is_string()) return Fail(Code::kCorrupt, "{} is neither a string nor an object with \"content\"", key);
  return text->get<std::string>();
}

Result<bool> Flag(const Json& config, std::string_view key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return false;
  if (!found->is_boolean()) return Fail(Code::kCorrupt, "{} is not a bool", key);
  return found->get<bool>();
}

Result<std::string> Template(const Json& config) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return Fail(Code::kCorrupt, "chat_template is neither a string nor a list");
  for (const Json& entry : *found) {
    if (!entry.is_object()) return Fail(Code::kCorrupt, "chat_template holds something that is not an object");
    const auto name = entry.find("name");
    const auto text = entry.find("template");
    if (name == entry.end() || text == entry.end() || !text->is_string()) {
      return Fail(Code::kCorrupt, "an entry of chat_template lacks name or template");
    }
    if (*name == "default") return text->get<std::string>();
  }
  return std::string();
}

Status Apply(const Json& config, Vocabulary* vocabulary) {
  struct Named {
    std::string_view key;
    std::optional<int32_t>* id;
  };
  const std::array<Named, 5> tokens = {{{"bos_token", &vocabulary->bos},
                                        {"eos_token", &vocabulary->eos},
                                        {"eot_token", &vocabulary->eot},
                                        {"unk_token", &vocabulary->unk},
                                        {"pad_token", &vocabulary->pad}}};
  for (const Named& token : tokens) {
    QUERN_ASSIGN_OR_RETURN(const std::optional<std::string> text, TokenString(config, token.key));
    if (!text) continue;
    const auto found = std::ranges::find(vocabulary->pieces, *text);
    if (found == vocabulary->pieces.end()) {
      return Fail(Code::kCorrupt, "{} {} is not in the vocabulary", token.key, Quoted(*text));
    }
    *token.id = static_cast<int32_t>(found - vocabulary->pieces.begin());
  }
  QUERN_ASSIGN_OR_RETURN(const bool add_bos, Flag(config, "add_bos_token"));
  QUERN_ASSIGN_OR_RETURN(const bool add_eos, Flag(config, "add_eos_token"));
  vocabulary->add_bos |= add_bos;
  vocabulary->add_eos |= add_eos;
  QUERN_ASSIGN_OR_RETURN(vocabulary->chat_template, Template(config));
  return {};
}

}  // namespace

Status ApplyTokenizerConfig(std::string_view text, Vocabulary* vocabulary) {
  if (text.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(const Json config, ParseJson(text, "tokenizer_config.json"));
  if (!config.is_object()) return Fail(Code::kCorrupt, "tokenizer_config.json: the top value is not an object");
  if (Status applied = Apply(config, vocabulary); !applied) {
    return WithFrame(std::move(applied).error(), "tokenizer_config.json");
  }
  MendTypes(vocabulary);
  return {};
}

Result<std::string> ReadIfPresent(const std::filesystem::path& path) {
  Result<std::string> text = ReadFile(path, kMaxCompanionBytes);
  if (!text && text.error().code == Code::kNotFound) return std::string();
  return text;
}

Status ReadTemplateBeside(const std::filesystem::path& path, Vocabulary* vocabulary) {
  if (!vocabulary->chat_template.empty()) return {};
  QUERN_ASSIGN_OR_RETURN(vocabulary->chat_template, ReadIfPresent(path.parent_path() / "chat_template.jinja"));
  return {};
}

}  // namespace quern::format
