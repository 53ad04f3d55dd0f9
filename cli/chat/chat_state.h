// Everything a running chat holds: model, conversation, parameters, view. Owned by the chat command; slash commands and
// turns work on it. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/chat/conversation.h"
#include "cli/chat/session_file.h"
#include "cli/chat/settings.h"
#include "cli/chat/statistics.h"
#include "cli/chat/view.h"
#include "cli/invocation.h"

namespace quern::cli {

struct ChatState {
  Invocation& in;
  ChatView& view;
  ModelFile file;
  LoadOptions load;
  std::shared_ptr<Model> model;
  std::unique_ptr<Session> session;
  Conversation conversation;
  ChatSettings settings;
  SessionTotals totals;
  std::string session_path;  // --session: saved after every turn; may be empty
  std::string created = NowUtc();
  std::string attachment;    // of /file: goes in front of the next message
  bool interactive = false;  // a person at a terminal: errors of a turn do not end the chat
  std::function<std::string(std::string_view question)> ask;  // null when nobody can answer
};

// Loads file into the state; on failure the state keeps the model it has.
Status SwitchModel(ChatState& state, const ModelFile& file, const LoadOptions& load);

// The line after loading: model, quantisation, device, context, load time.
std::string DescribeModel(const Model& model);

SavedSession ToSaved(const ChatState& state);
// Takes over a loaded session; a notice when it was made with another model.
void Adopt(ChatState& state, SavedSession session);

// A request with the present parameters for the given messages.
GenerateRequest RequestFor(const ChatState& state, std::vector<ChatMessage> messages);
// Tokens of a rendered conversation.
Result<int64_t> CountTokens(const ChatState& state, std::span<const ChatMessage> messages);

struct TurnOutcome {
  std::optional<Error> error;             // the turn failed; the user message is taken back
  std::optional<std::string> taken_back;  // the user message, when it is not part of the conversation any more
};
// Answers the newest user message: fits, generates, shows, stores.
TurnOutcome RunTurn(ChatState& state, std::optional<uint64_t> seed = std::nullopt);

}  // namespace quern::cli
