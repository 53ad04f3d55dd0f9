#include "cli/terminal/line_editor.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cwchar>

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include "quern/version.h"

#include "cli/interrupt.h"
#include "cli/terminal/unicode.h"

namespace quern::cli {
namespace {

constexpr int kHistoryEntries = 1000;
constexpr size_t kLargestPaste = size_t{1} << 20;
constexpr std::string_view kPasteOn = "\x1b[?2004h", kPasteOff = "\x1b[?2004l";
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";

std::wstring Widen(std::string_view text) {
  std::wstring wide;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeFirst(text.substr(at));
    wide += static_cast<wchar_t>(point.value);
    at += point.num_bytes;
  }
  return wide;
}

std::string Narrow(std::wstring_view wide) {
  std::string text;
  for (const wchar_t c : wide) AppendUtf8(text, static_cast<char32_t>(c));
  return text;
}

void WriteTerminal(std::string_view text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

// Signals that end the wait for a key are blocked outside the wait, so that none is lost between check and wait.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH}) sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &before_);
  }
  ~BlockedSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

}  // namespace

struct LineEditor::State {
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  std::wstring prompt;
  std::string bytes;  // of a character that is not complete
  InputLine line;     // what the callbacks found out about the line being read

  ~State() {
    if (editor != nullptr) el_end(editor);
    if (history != nullptr) history_wend(history);
  }

  static State& Of(EditLine* editor) {
    State* state = nullptr;
    el_wget(editor, EL_CLIENTDATA, &state);
    return *state;
  }

  static wchar_t* Prompt(EditLine* editor) { return Of(editor).prompt.data(); }

  // What libedit calls for every character: 1, 0 at the end of the input, -1 to give the line up.
  static int ReadCharacter(EditLine* editor, wchar_t* out) {
    State& state = Of(editor);
    for (;;) {
      if (const int ready = WaitForByte(editor, state); ready <= 0) return ready;
      char byte = 0;
      const ssize_t got = read(STDIN_FILENO, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return 0;
      // Bytes that are not UTF-8 are dropped; a byte that cannot continue a character may begin the next one.
      if (!state.bytes.empty() && (static_cast<unsigned char>(byte) & 0xC0) != 0x80) state.bytes.clear();
      state.bytes += byte;
      const auto lead = static_cast<unsigned char>(state.bytes.front());
      const size_t length = lead < 0x80 ? 1 : lead < 0xC2 || lead > 0xF4 ? 0 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
      if (state.bytes.size() < length) continue;
      const CodePoint point = DecodeFirst(state.bytes);
      state.bytes.clear();
      if (length == 0 || !point.valid) continue;
      *out = static_cast<wchar_t>(point.value);
      return 1;
    }
  }

  static int WaitForByte(EditLine* editor, State& state) {
    const BlockedSignals blocked;
    for (;;) {
      if (TerminationSignal() != 0) {
        state.line.kind = InputLine::Kind::kTerminated;
        return -1;
      }
      if (TakePromptInterrupt()) {
        const LineInfoW* info = el_wline(editor);
        state.line.kind = InputLine::Kind::kInterrupted;
        state.line.had_text = info->lastchar > info->buffer;
        return -1;
      }
      if (TakeContinued()) {  // after Ctrl-Z and fg the terminal is in the shell's mode
        el_wset(editor, EL_PREP_TERM, 0);
        el_wset(editor, EL_PREP_TERM, 1);
        WriteTerminal(kPasteOn);
        el_wset(editor, EL_REFRESH);
      }
      if (TakeResized()) el_resize(editor);
      pollfd input = {STDIN_FILENO, POLLIN, 0};
      if (ppoll(&input, 1, nullptr, &blocked.before()) > 0) return 1;
      if (errno != EINTR) return 0;
    }
  }

  // Bound to the start of a bracketed paste: takes everything up to its end literally.
  static unsigned char Paste(EditLine* editor, wint_t) {
    State& state = Of(editor);
    std::wstring text;
    wchar_t c = 0;
    while (text.size() < kLargestPaste && el_wgetc(editor, &c) == 1) {
      text += c;
      if (text.ends_with(kPasteEnd)) {
        text.resize(text.size() - kPasteEnd.size());
        break;
      }
    }
    std::wstring clean;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == L'\r') {
        clean += L'\n';
        if (i + 1 < text.size() && text[i + 1] == L'\n') ++i;
      } else if (!IsControl(static_cast<char32_t>(text[i]))) {
        clean += text[i];
      }
    }
    if (clean.empty()) return CC_NORM;
    state.line.pasted = true;
    return el_winsertstr(editor, clean.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }
};

LineEditor::LineEditor(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::Create(std::span<const std::string> history) {
  auto state = std::make_unique<State>();
  state->editor = el_init(std::string(kProductName).c_str(), stdin, stderr, stderr);
  state->history = history_winit();
  if (state->editor == nullptr || state->history == nullptr)
    return Fail(Code::kInternal, "the line editor cannot start");
  EditLine* editor = state->editor;
  HistEventW event;
  history_w(state->history, &event, H_SETSIZE, kHistoryEntries);
  history_w(state->history, &event, H_SETUNIQUE, 1);
  el_wset(editor, EL_CLIENTDATA, state.get());
  el_wset(editor, EL_EDITOR, L"emacs");
  el_wset(editor, EL_PROMPT, &State::Prompt);
  el_wset(editor, EL_HIST, history_w, state->history);
  el_wset(editor, EL_GETCFN, &State::ReadCharacter);
  el_wset(editor, EL_ADDFN, L"quern-paste", L"take a bracketed paste literally", &State::Paste);
  el_wset(editor, EL_BIND, L"\x1b[200~", L"quern-paste", nullptr);
  el_wset(editor, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
  std::unique_ptr<LineEditor> line_editor(new LineEditor(std::move(state)));
  for (const std::string& entry : history) line_editor->Remember(entry);
  return line_editor;
}

Result<InputLine> LineEditor::Read(std::string_view prompt) {
  State& state = *state_;
  state.prompt = Widen(prompt);
  state.line = {};
  const PromptScope scope;
  // libedit shows the prompt first and leaves the terminal's line mode later: keys that answer the prompt at once would
  // still be interpreted by the terminal, and Ctrl-D would be lost.
  el_wset(state.editor, EL_PREP_TERM, 1);
  WriteTerminal(kPasteOn);
  int count = 0;
  const wchar_t* text = el_wgets(state.editor, &count);
  WriteTerminal(kPasteOff);
  if (text == nullptr || count <= 0) {
    if (state.line.kind == InputLine::Kind::kInterrupted) WriteTerminal("^C");
    WriteTerminal("\n");
    return state.line;  // kEnd unless a callback said why
  }
  std::wstring_view line(text, static_cast<size_t>(count));
  if (line.ends_with(L'\n')) line.remove_suffix(1);
  state.line.kind = InputLine::Kind::kLine;
  state.line.text = Narrow(line);
  return state.line;
}

void LineEditor::Remember(std::string_view text) {
  HistEventW event;
  history_w(state_->history, &event, H_ENTER, Widen(text).c_str());
}

bool LineEditor::Prefill(std::string_view text) {
  if (text.find('\n') != std::string_view::npos) return false;  // a line break would send it
  el_wpush(state_->editor, Widen(text).c_str());
  return true;
}

}  // namespace quern::cli
