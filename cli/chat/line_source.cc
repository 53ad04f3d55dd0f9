#include "cli/chat/line_source.h"

#include <optional>

#include "cli/interrupt.h"

namespace quern::cli {

Result<InputLine> StreamLines::Read(std::string_view prompt) {
  std::optional<PromptScope> scope;
  if (write_prompt_) {
    scope.emplace();
    write_prompt_(prompt);
  }
  Result<std::optional<std::string>> line = reader_.Next();
  if (!line && line.error().code == Code::kCancelled) {
    return InputLine{.kind = TerminationSignal() != 0 ? InputLine::Kind::kTerminated : InputLine::Kind::kInterrupted};
  }
  if (!line) return tl::unexpected(std::move(line).error());
  if (!*line) return InputLine{.kind = InputLine::Kind::kEnd};
  QUERN_TRY(CheckUtf8(**line, "the input line"));
  return InputLine{.kind = InputLine::Kind::kLine, .text = std::move(**line)};
}

}  // namespace quern::cli
