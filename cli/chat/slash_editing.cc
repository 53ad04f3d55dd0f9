#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "cli/chat/slash_commands.h"
#include "cli/text_input.h"

namespace quern::cli::slash {
namespace {

constexpr size_t kLargestFile = size_t{1} << 20;

// A private file that is removed on every way out.
class TemporaryFile {
 public:
  static Result<TemporaryFile> Create(std::string_view text) {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "quern-XXXXXX").string();
    const int fd = mkstemp(path.data());
    if (fd < 0) return Fail(Code::kResourceExhausted, "cannot create a temporary file in {}", path);
    close(fd);
    TemporaryFile file(path);
    QUERN_TRY(WritePrivateFile(path, text));
    return file;
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string Editor() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "vi";
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace

Result<SlashResult> Edit(ChatState& state, std::string_view) {
  const std::optional<std::string> last = state.conversation.LastUserText();
  if (!last) return Fail(Code::kInvalidArgument, "there is no message to edit");
  QUERN_ASSIGN_OR_RETURN(const TemporaryFile file, TemporaryFile::Create(*last));
  // Through the shell, since $EDITOR may hold arguments. The path is ours and needs no quoting beyond this.
  const int status = std::system((Editor() + " '" + file.path() + "'").c_str());
  if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Fail(Code::kInvalidArgument, "the editor \"{}\" failed; nothing was sent", Editor());
  }
  QUERN_ASSIGN_OR_RETURN(std::string text, ReadUtf8(file.path(), kLargestFile));
  while (text.ends_with('\n')) text.pop_back();
  if (text.empty()) {
    state.view.Notice("(the message is empty; nothing was sent)");
    return SlashResult();
  }
  state.conversation.TakeBackTurn();
  return SlashResult{.next = SlashResult::Next::kSend, .message = std::move(text)};
}

Result<SlashResult> File(ChatState& state, std::string_view arguments) {
  if (arguments.empty()) return Fail(Code::kInvalidArgument, "/file needs a PATH");
  std::string path(arguments);
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home != nullptr) path = home + path.substr(1);
  QUERN_ASSIGN_OR_RETURN(std::string text, ReadUtf8(path, kLargestFile));
  state.view.Notice(fmt::format("({} bytes of {} go in front of the next message)", text.size(), path));
  if (!text.ends_with('\n')) text += '\n';
  state.attachment += text;
  return SlashResult();
}

Result<SlashResult> Copy(ChatState& state, std::string_view) {
  const std::optional<std::string> answer = state.conversation.LastAnswer();
  if (!answer) return Fail(Code::kInvalidArgument, "there is no answer to copy");
  const Terminal& terminal = state.in.terminal;
  if (!terminal.stdout_is_terminal || terminal.is_dumb) {
    return Fail(Code::kUnsupported, "the output is not a terminal with a clipboard");
  }
  state.in.out.Write("\x1b]52;c;" + Base64(*answer) + "\x07");
  state.in.out.Flush();
  state.view.Notice("(sent to the clipboard, if the terminal allows OSC 52)");
  return SlashResult();
}

}  // namespace quern::cli::slash
