// Renders everything that kernelgen writes into src/kernels/artifacts: the text of every kernel of the catalogue and
// the manifest. Deterministic to the byte; the test of freshness compares with what is checked in.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace quern::kernelgen {

// Path below src/kernels/artifacts -> content.
Result<std::map<std::string, std::string>> RenderArtifacts();

// What is wrong with a folder of artifacts, one line each: stale, edited, missing or orphaned files. Empty when fresh.
Result<std::vector<std::string>> CheckArtifacts(const std::filesystem::path& folder);

}  // namespace quern::kernelgen
