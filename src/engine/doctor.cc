// The checks of `quern doctor`. Each looks, none changes anything.
#include "quern/doctor.h"

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "device/cpu/cpu_device.h"
#include "engine/hf_cache.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using State = DoctorCheck::State;

// Paths under the home directory are shown with "~", so that a report can be pasted.
std::string Shown(const fs::path& path) {
  const char* home = std::getenv("HOME");
  const std::string text = path.string();
  if (home == nullptr || *home == '\0' || !text.starts_with(home)) return text;
  return "~" + text.substr(std::string_view(home).size());
}

DoctorCheck CheckCpu() {
  const device::cpu::CpuFeatures& host = device::cpu::CpuFeatures::Host();
  const device::cpu::Isa isa = device::cpu::BestIsa(host);
  DoctorCheck check{State::kOk, "cpu",
                    fmt::format("{}; features: {}; kernels: {}; {} usable processors", host.model_name, host.ToString(),
                                device::cpu::NameOf(isa), device::cpu::CpuDevice::UsableProcessors()),
                    ""};
  if (isa == device::cpu::Isa::kPortable) {
    check.state = State::kWarn;
    check.remedy = "this processor lacks AVX2: models run on portable kernels, several times slower";
  }
  return check;
}

DoctorCheck CheckMemory() {
  const int64_t bytes = device::cpu::CpuDevice::UsableMemoryBytes();
  const double gib = static_cast<double>(bytes) / (1 << 30);
  if (gib >= 4) return {State::kOk, "memory", fmt::format("{:.1f} GiB usable", gib), ""};
  return {State::kWarn, "memory", fmt::format("{:.1f} GiB usable", gib),
          "E2B in Q4_0 needs about 4 GiB; raise the container's limit or take a smaller model"};
}

DoctorCheck CheckGpu() { return {State::kOk, "gpu", "this build runs on the CPU only", ""}; }

DoctorCheck CheckModelsDir(const ResolveOptions& options) {
  const fs::path cache = engine::HfCacheDir(options.models_dir);
  std::error_code error;
  fs::path existing = cache;
  while (!fs::exists(existing, error) && existing.has_parent_path() && existing != existing.parent_path())
    existing = existing.parent_path();
  if (::access(existing.c_str(), W_OK) != 0) {
    return {State::kFail, "models directory", fmt::format("{} is not writable", Shown(cache)),
            "choose another with --models-dir or QUERN_MODELS_DIR"};
  }
  struct statvfs info {};
  if (::statvfs(existing.c_str(), &info) != 0)
    return {State::kWarn, "models directory", Shown(cache) + ": free space unknown", ""};
  const double free_gb = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9;
  DoctorCheck check{State::kOk, "models directory", fmt::format("{}, {:.1f} GB free", Shown(cache), free_gb), ""};
  if (free_gb < 5) {
    check.state = State::kWarn;
    check.remedy = "E2B in Q4_0 takes 3.4 GB; free some space or move the cache";
  }
  return check;
}

DoctorCheck CheckDemo() {
  const Result<ModelFile> demo = FindDemoModel();
  if (demo) return {State::kOk, "demo model", Shown(demo->path), ""};
  return {State::kWarn, "demo model", demo.error().message,
          "`quern chat` without a model needs it: reinstall, or set a default model"};
}

DoctorCheck CheckConfig(const Config& config) {
  DoctorCheck check{State::kOk, "configuration", config.path().empty() ? "no file; defaults" : Shown(config.path()),
                    ""};
  if (!config.unknown_variables().empty()) {
    check.state = State::kWarn;
    check.detail += fmt::format("; unknown variables: {}", fmt::join(config.unknown_variables(), ", "));
    check.remedy = "unset them; `quern config show` lists the known ones";
  }
  return check;
}

DoctorCheck CheckToken() {
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return {State::kOk, "hub token", fmt::format("{} is set", name), ""};
  }
  return {State::kOk, "hub token", "none; only needed for gated repositories", ""};
}

DoctorCheck CheckTerminal() {
  const std::string codeset = ::nl_langinfo(CODESET);
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  if (codeset == "UTF-8" || codeset == "utf8")
    return {State::kOk, "terminal", is_terminal ? "terminal, UTF-8" : "not a terminal, UTF-8", ""};
  return {State::kWarn, "terminal", fmt::format("character set {}", codeset),
          "set LANG to a UTF-8 locale (for example C.UTF-8)"};
}

DoctorCheck CheckLimits() {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= 256) return {State::kOk, "open files", fmt::format("limit {}", limit.rlim_cur), ""};
  return {State::kWarn, "open files", fmt::format("limit {}", limit.rlim_cur), "raise it: ulimit -n 1024"};
}

DoctorCheck CheckClock() {
  constexpr std::time_t k2024 = 1704067200;
  if (std::time(nullptr) > k2024) return {State::kOk, "clock", "sane", ""};
  return {State::kFail, "clock", "before 2024", "set the system clock: TLS and cache times depend on it"};
}

}  // namespace

std::vector<DoctorCheck> RunDoctor(const Config& config, const ResolveOptions& options) {
  return {CheckCpu(),          CheckMemory(), CheckGpu(),      CheckModelsDir(options), CheckDemo(),
          CheckConfig(config), CheckToken(),  CheckTerminal(), CheckLimits(),           CheckClock()};
}

}  // namespace quern
