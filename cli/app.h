// The program: parses the command line, reads the configuration, runs one command and reports its error.
#pragma once

namespace quern::cli {

// Returns the process status.
int Main(int argc, char** argv);

}  // namespace quern::cli
