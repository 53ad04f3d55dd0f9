// The companions of a tokenizer file: tokenizer_config.json and chat_template.jinja. Internal to the room.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"
#include "format/vocabulary.h"

namespace quern::format {

// Takes over what tokenizer_config.json says: bos_token, eos_token, eot_token, unk_token and pad_token by their strings
// (a name that is no piece is Corrupt), add_bos_token and add_eos_token when true, and chat_template (of several, the
// one named "default"). Other keys concern other programs and are left alone.
// Empty text says nothing. The types of the pieces are mended afterwards (MendTypes).
Status ApplyTokenizerConfig(std::string_view text, Vocabulary* vocabulary);

// The text of a file that may be absent: "" then.
Result<std::string> ReadIfPresent(const std::filesystem::path& path);

// chat_template.jinja beside `path`, when tokenizer_config.json did not hold a template.
Status ReadTemplateBeside(const std::filesystem::path& path, Vocabulary* vocabulary);

}  // namespace quern::format
