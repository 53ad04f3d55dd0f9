// What a running command may use: its streams, the configuration, and how the user wants output. Lives for one run of
// the program; main thread.
#pragma once

#include <optional>
#include <string>

#include "quern/config.h"
#include "quern/model.h"

#include "cli/diagnostics.h"
#include "cli/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/terminal.h"

namespace CLI {
class App;
}

namespace quern::cli {

struct Invocation {
  Output& out;
  const Diagnostics& diagnostics;
  const Terminal& terminal;
  Config config;
  // Why the configuration could not be read, for the commands that run all the same; config holds the defaults then.
  std::optional<Error> config_error;
  std::string config_path;  // --config
  bool json = false;
  const CLI::App& app;  // the root, for help and completion

  ResolveOptions resolve_options() const {
    return {.models_dir = std::string(config.Get("store.models_dir")), .offline = config.GetBool("general.offline")};
  }
  ProgressDisplay::Options progress_options() const;
};

}  // namespace quern::cli
