// Saved conversations: JSON of schema quern.session/1, written whole with mode 0600. A plain OpenAI "messages" array is
// read too.
#pragma once

#include <string>

#include "cli/chat/conversation.h"
#include "cli/chat/settings.h"
#include "cli/json_text.h"

namespace quern::cli {

struct SavedSession {
  std::string model_reference, model_name, model_quantization;  // empty in an imported array
  Conversation conversation;
  ChatSettings settings;  // sampling, max_tokens, stop, think; the rest keeps its defaults
  bool has_settings = false;
  std::string created;  // RFC 3339, UTC
};

Json ToJson(const SavedSession& session);
Result<SavedSession> SessionFromJson(const Json& json, std::string_view what);

Status SaveSession(const std::string& path, const SavedSession& session);
Result<SavedSession> LoadSession(const std::string& path);

std::string NowUtc();

}  // namespace quern::cli
