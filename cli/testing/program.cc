#include "cli/testing/program.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quern::cli::testing {
namespace {

using Clock = std::chrono::steady_clock;
// Generous: a machine under load must not make a test fail. Nothing waits this long when all is well.
constexpr std::chrono::seconds kPatience{30};

[[noreturn]] void Execute(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> words = {QUERN_TEST_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

int StatusOf(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read_end = ends[0];
    write_end = ends[1];
  }
};

}  // namespace

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "quern-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  folder_ = pattern;
}
Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}
std::string Scratch::Write(const std::string& name, const std::string& text) const {
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}
std::string Scratch::Read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(Path(name), std::ios::binary).rdbuf();
  return text.str();
}
Environment Scratch::Variables() const {
  return {{"HOME", folder_},
          {"XDG_CONFIG_HOME", folder_ + "/config"},
          {"XDG_STATE_HOME", folder_ + "/state"},
          {"QUERN_HOME", folder_},
          {"LANG", "C.UTF-8"},
          {"TERM", "xterm"},
          {"PATH", "/usr/bin:/bin"},
          {"ASAN_OPTIONS", "detect_leaks=0"}};
}

Finished RunProgram(const std::vector<std::string>& arguments, const Environment& environment,
                    const PipeOptions& options) {
  Pipe in, out, err;
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in.read_end, STDIN_FILENO);
    dup2(options.stdout_path.empty() ? out.write_end : open(options.stdout_path.c_str(), O_WRONLY), STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    if (options.file_limit >= 0) {
      const rlimit limit = {static_cast<rlim_t>(options.file_limit), static_cast<rlim_t>(options.file_limit)};
      setrlimit(RLIMIT_FSIZE, &limit);
      std::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    }
    Execute(arguments, environment);
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  if (options.close_stdout) close(out.read_end);
  // The inputs of these tests fit a pipe, so writing first cannot block.
  std::signal(SIGPIPE, SIG_IGN);
  static_cast<void>(!write(in.write_end, options.input.data(), options.input.size()));
  const bool keep_stdin = options.signal != 0;
  if (!keep_stdin) close(in.write_end);

  Finished finished;
  pollfd streams[2] = {{options.close_stdout ? -1 : out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
  std::string* texts[2] = {&finished.out, &finished.err};
  const auto start = Clock::now();
  bool signalled = options.signal == 0;
  while ((streams[0].fd >= 0 || streams[1].fd >= 0) && Clock::now() - start < kPatience) {
    poll(streams, 2, 20);
    if (!signalled && (finished.out + finished.err).find(options.signal_after) != std::string::npos) {
      kill(pid, options.signal);
      signalled = true;
    }
    for (int i = 0; i < 2; ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t got = read(streams[i].fd, bytes, sizeof(bytes));
      if (got > 0) {
        texts[i]->append(bytes, static_cast<size_t>(got));
      } else {
        close(streams[i].fd);
        streams[i].fd = -1;
      }
    }
  }
  if (streams[0].fd >= 0 || streams[1].fd >= 0) kill(pid, SIGKILL);  // it hangs: the test fails on the status
  if (keep_stdin) close(in.write_end);
  int status = 0;
  waitpid(pid, &status, 0);
  finished.status = StatusOf(status);
  return finished;
}

TerminalProgram::TerminalProgram(const std::vector<std::string>& arguments, const Environment& environment,
                                 int columns) {
  winsize size = {.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = forkpty(&fd_, nullptr, nullptr, &size);
  if (pid_ == 0) Execute(arguments, environment);
}

TerminalProgram::~TerminalProgram() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
}

void TerminalProgram::Type(const std::string& keys) { static_cast<void>(!write(fd_, keys.data(), keys.size())); }
void TerminalProgram::Send(int signal) { kill(pid_, signal); }
void TerminalProgram::Resize(int columns) {
  winsize size = {.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(fd_, TIOCSWINSZ, &size);
}

bool TerminalProgram::ReadSome(int timeout_ms) {
  pollfd stream = {fd_, POLLIN, 0};
  if (poll(&stream, 1, timeout_ms) <= 0) return true;
  char bytes[4096];
  const ssize_t got = read(fd_, bytes, sizeof(bytes));
  if (got <= 0) return false;  // EIO: the other side is closed
  output_.append(bytes, static_cast<size_t>(got));
  return true;
}

bool TerminalProgram::Expect(const std::string& text) {
  const auto start = Clock::now();
  bool open = true;
  for (;;) {
    const size_t at = output_.find(text, consumed_);
    if (at != std::string::npos) {
      consumed_ = at + text.size();
      return true;
    }
    if (!open || Clock::now() - start > kPatience) return false;
    open = ReadSome(50);
  }
}

int TerminalProgram::Wait() {
  const auto start = Clock::now();
  while (ReadSome(50) && Clock::now() - start < kPatience) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      while (ReadSome(10) && output_.size() < (size_t{1} << 24)) {
        pollfd stream = {fd_, POLLIN, 0};
        if (poll(&stream, 1, 0) <= 0) break;
      }
      pid_ = -1;
      return StatusOf(status);
    }
  }
  if (pid_ < 0) return -1;
  int status = 0;
  const auto end = Clock::now() + std::chrono::seconds(2);
  while (Clock::now() < end) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return StatusOf(status);
    }
    usleep(5000);
  }
  return -1;
}

}  // namespace quern::cli::testing
