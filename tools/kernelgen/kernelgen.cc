// Writes the generated kernels into src/kernels/artifacts, or checks that they are fresh.
// usage: kernelgen FOLDER [--check]
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "tools/kernelgen/render.h"

namespace {

int Fail(const quern::Error& error) {
  std::fprintf(stderr, "kernelgen: %s\n", error.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || (argc == 3 && std::string_view(argv[2]) != "--check") || argc > 3) {
    std::fprintf(stderr, "usage: kernelgen FOLDER [--check]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  if (argc == 3) {
    const auto problems = quern::kernelgen::CheckArtifacts(folder);
    if (!problems) return Fail(problems.error());
    for (const std::string& problem : *problems)
      std::fprintf(stderr, "kernelgen: %s (run make generate)\n", problem.c_str());
    return problems->empty() ? 0 : 1;
  }
  const auto files = quern::kernelgen::RenderArtifacts();
  if (!files) return Fail(files.error());
  for (const auto& [path, content] : *files) {
    std::error_code ignored;
    std::filesystem::create_directories((folder / path).parent_path(), ignored);
    // Unchanged files keep their time, so that nothing is compiled again.
    if (const auto old = quern::ReadFile(folder / path); old && *old == content) continue;
    if (const auto written = quern::WriteFileAtomically(folder / path, content); !written) return Fail(written.error());
  }
  // Files of kernels that the catalogue no longer has.
  for (const auto& item : std::filesystem::directory_iterator(folder / "cuda")) {
    if (!files->contains("cuda/" + item.path().filename().string())) std::filesystem::remove(item.path());
  }
  std::printf("%zu files\n", files->size());
  return 0;
}
