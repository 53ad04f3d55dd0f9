#include "cli/chat/message_reader.h"

namespace quern::cli {
namespace {

constexpr std::string_view kPrompt = ">>> ", kContinuation = "... ", kFence = "\"\"\"";

Input Ended(const InputLine& line, bool inside) {
  switch (line.kind) {
    case InputLine::Kind::kInterrupted:
      return {.kind = Input::Kind::kInterrupted, .had_text = line.had_text || inside};
    case InputLine::Kind::kTerminated:
      return {.kind = Input::Kind::kTerminated};
    default:
      return {.kind = Input::Kind::kEnd};
  }
}

}  // namespace

Result<Input> MessageReader::Next() {
  for (;;) {
    QUERN_ASSIGN_OR_RETURN(InputLine line, lines_.Read(kPrompt));
    if (line.kind != InputLine::Kind::kLine) return Ended(line, false);
    if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
    if (line.pasted) return Input{.kind = Input::Kind::kMessage, .text = std::move(line.text)};
    if (line.text.starts_with(kFence)) return ReadBlock(line.text.substr(kFence.size()));
    if (line.text.starts_with("//")) return Continue(line.text.substr(1));
    if (line.text.front() == '/') return Input{.kind = Input::Kind::kCommand, .text = std::move(line.text)};
    return Continue(std::move(line.text));
  }
}

// A backslash at the end of a line joins the next one.
Result<Input> MessageReader::Continue(std::string text) {
  while (text.ends_with('\\')) {
    text.back() = '\n';
    QUERN_ASSIGN_OR_RETURN(const InputLine line, lines_.Read(kContinuation));
    if (line.kind == InputLine::Kind::kEnd) {
      text.pop_back();
      break;
    }
    if (line.kind != InputLine::Kind::kLine) return Ended(line, true);
    text += line.text;
  }
  return Input{.kind = Input::Kind::kMessage, .text = std::move(text)};
}

Result<Input> MessageReader::ReadBlock(std::string first) {
  if (first.ends_with(kFence)) {
    first.resize(first.size() - kFence.size());
    return Input{.kind = Input::Kind::kMessage, .text = std::move(first)};
  }
  std::string text = first.empty() ? "" : first + "\n";
  for (;;) {
    QUERN_ASSIGN_OR_RETURN(const InputLine line, lines_.Read(kContinuation));
    if (line.kind == InputLine::Kind::kEnd) {
      return Fail(Code::kInvalidArgument, "the input ended inside a \"\"\" block; the block was not sent");
    }
    if (line.kind != InputLine::Kind::kLine) return Ended(line, true);
    if (!line.text.ends_with(kFence)) {
      text += line.text + "\n";
      continue;
    }
    text += line.text.substr(0, line.text.size() - kFence.size());
    if (text.ends_with('\n')) text.pop_back();
    return Input{.kind = Input::Kind::kMessage, .text = std::move(text)};
  }
}

}  // namespace quern::cli
