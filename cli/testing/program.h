// Runs the program with the fake engine: through pipes, or at a pseudo-terminal. For tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace quern::cli::testing {

using Environment = std::map<std::string, std::string>;

struct Finished {
  int status = -1;  // exit status; 128 + signal when a signal ended it
  std::string out, err;
};

// A fresh folder that is HOME, XDG_* and QUERN_HOME of the program.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Write(const std::string& name, const std::string& text) const;  // the path
  std::string Read(const std::string& name) const;
  // HOME and the rest, a UTF-8 locale, TERM=xterm; nothing else of the caller's environment.
  Environment Variables() const;

 private:
  std::string folder_;
};

struct PipeOptions {
  std::string input;
  std::string stdout_path;    // instead of a pipe
  bool close_stdout = false;  // the reader goes away at once
  int64_t file_limit = -1;    // bytes that a file may have: a write beyond fails as on a full disk. -1: none
  std::string
      signal_after;  // text on stdout or stderr that is awaited before `signal` is sent; stdin stays open till then
  int signal = 0;
};
Finished RunProgram(const std::vector<std::string>& arguments, const Environment& environment,
                    const PipeOptions& options = {});

// The program at a terminal of its own. Output of stdout and stderr is one text.
class TerminalProgram {
 public:
  TerminalProgram(const std::vector<std::string>& arguments, const Environment& environment, int columns = 80);
  ~TerminalProgram();
  TerminalProgram(const TerminalProgram&) = delete;
  TerminalProgram& operator=(const TerminalProgram&) = delete;

  void Type(const std::string& keys);
  // Reads until text appears behind what earlier calls found; false after ten seconds. On success the text is consumed.
  bool Expect(const std::string& text);
  void Resize(int columns);
  void Send(int signal);
  // Reads to the end; the status.
  int Wait();
  const std::string& output() const { return output_; }

 private:
  bool ReadSome(int timeout_ms);
  pid_t pid_ = -1;
  int fd_ = -1;
  size_t consumed_ = 0;
  std::string output_;
};

}  // namespace quern::cli::testing
