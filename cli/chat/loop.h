// The loop of a chat: read, command or turn, until the end of the input.
#pragma once

#include "cli/chat/chat_state.h"
#include "cli/chat/history.h"
#include "cli/chat/line_source.h"
#include "cli/exit_code.h"

namespace quern::cli {

// Interactive: errors are shown and the chat goes on; Ctrl-C twice within a second at an empty prompt leaves with 130.
// Otherwise the first failing turn or command ends it with its error.
Result<ExitCode> RunChatLoop(ChatState& state, LineSource& lines, const HistoryFile& history);

}  // namespace quern::cli
