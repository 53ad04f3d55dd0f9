// What `quern doctor` checks: the machine, the installation, the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/config.h"
#include "quern/error.h"
#include "quern/model.h"

namespace quern {

struct DoctorCheck {
  enum class State : uint8_t { kOk, kWarn, kFail } state = State::kOk;
  std::string name;    // "cpu", "memory", ...
  std::string detail;  // what was found
  std::string remedy;  // for warn and fail
};
// Runs all checks but that of the terminal, which belongs to the caller; none of them changes anything, uses the
// network or prints a secret. Paths under the home directory are shown with "~". `config_error`: why the configuration
// could not be read, if so; `config` then holds the defaults.
std::vector<DoctorCheck> RunDoctor(const Config& config, const std::optional<Error>& config_error,
                                   const ResolveOptions& options);

}  // namespace quern
