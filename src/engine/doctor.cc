// The checks of `quern doctor`. Each looks, none changes anything.
#include "quern/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "quern/alias.h"

#include "device/cpu/cgroup.h"
#include "device/cpu/cpu_device.h"
#include "engine/hf_cache.h"
#include "engine/kernel_check.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using State = DoctorCheck::State;

// Paths under the home directory are shown with "~", so that a report can be pasted.
std::string Shown(std::string text) {
  const char* home = std::getenv("HOME");
  const std::string_view needle = home == nullptr ? "" : home;
  if (needle.size() < 2) return text;  // none, or "/"
  for (size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1)) {
    text.replace(at, needle.size(), "~");
  }
  return text;
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
  const std::optional<int64_t> limit = device::cpu::ReadCgroupLimits().memory_bytes;
  const std::string detail =
      fmt::format("{:.1f} GiB usable; control group: {}", gib,
                  limit ? fmt::format("{:.1f} GiB", static_cast<double>(*limit) / (1 << 30)) : "no limit");
  if (gib >= 4) return {State::kOk, "memory", detail, ""};
  return {State::kWarn, "memory", detail,
          "E2B in Q4_0 needs about 4 GiB; raise the container's limit or take a smaller model"};
}

DoctorCheck CheckKernelResults() {
  const device::cpu::Isa isa = device::cpu::BestIsa(device::cpu::CpuFeatures::Host());
  const Status agree = engine::CheckKernels(isa);
  if (agree) return {State::kOk, "kernels", fmt::format("{} and portable agree", device::cpu::NameOf(isa)), ""};
  return {State::kFail, "kernels", agree.error().message,
          "answers would be wrong: report this with the output of `quern doctor --json`"};
}

DoctorCheck CheckGpu() {
  DoctorCheck check{State::kOk, "gpu", "this build runs on the CPU only", ""};
  std::error_code error;
  if (fs::exists("/proc/driver/nvidia/version", error)) check.detail += "; an NVIDIA driver is loaded and not used";
  return check;
}

// FAT and exFAT have none. Known by type, so that nothing need be written.
bool HasSymlinks(const struct statfs& system) {
  constexpr int64_t kFat = 0x4d44, kExFat = 0x2011bab0;
  return system.f_type != kFat && system.f_type != kExFat;
}

DoctorCheck CheckModelsDir(const ResolveOptions& options) {
  const fs::path cache = engine::HfCacheDir(options.models_dir);
  std::error_code error;
  fs::path existing = cache;
  while (!fs::exists(existing, error) && existing.has_parent_path() && existing != existing.parent_path())
    existing = existing.parent_path();
  if (::access(existing.c_str(), W_OK) != 0) {
    return {State::kFail, "models directory", fmt::format("{} is not writable", Shown(cache.string())),
            "choose another with --models-dir or QUERN_MODELS_DIR"};
  }
  struct statvfs info {};
  if (::statvfs(existing.c_str(), &info) != 0)
    return {State::kWarn, "models directory", Shown(cache.string()) + ": free space unknown", ""};
  const double free_gb = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9;
  DoctorCheck check{State::kOk, "models directory", fmt::format("{}, {:.1f} GB free", Shown(cache.string()), free_gb),
                    ""};
  struct statfs system {};
  if (::statfs(existing.c_str(), &system) == 0 && !HasSymlinks(system)) {
    check.state = State::kWarn;
    check.detail += "; no symbolic links on this file system";
    check.remedy = "the cache needs links from snapshots to files: move it to another file system with --models-dir";
    return check;
  }
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

// Downloads that a client began and did not end.
DoctorCheck CheckDownloads(const ResolveOptions& options) {
  std::error_code error;
  int64_t count = 0;
  double bytes = 0;
  for (fs::directory_iterator repository(engine::HfCacheDir(options.models_dir), error), end;
       !error && repository != end; repository.increment(error)) {
    std::error_code absent;
    for (fs::directory_iterator blob(repository->path() / "blobs", absent); !absent && blob != end;
         blob.increment(absent)) {
      if (blob->path().extension() != ".incomplete") continue;
      std::error_code ignored;
      const auto size = blob->file_size(ignored);
      if (!ignored) bytes += static_cast<double>(size);
      ++count;
    }
  }
  if (count == 0) return {State::kOk, "downloads", "none unfinished", ""};
  return {State::kWarn, "downloads", fmt::format("{} unfinished, {:.1f} GB", count, bytes / 1e9),
          "finish them with the client that began them, or delete the *.incomplete files"};
}

DoctorCheck CheckAliases() {
  const std::string path = DefaultAliasPath();
  const Result<std::vector<Alias>> aliases = ListAliases(path);
  if (!aliases) {
    return {State::kFail, "aliases", Shown(aliases.error().message), fmt::format("mend or delete {}", Shown(path))};
  }
  const auto num_own = std::ranges::count_if(*aliases, [](const Alias& alias) { return !alias.built_in; });
  return {State::kOk, "aliases", fmt::format("{} of yours, {} built in", num_own, BuiltInAliases().size()), ""};
}

DoctorCheck CheckConfig(const Config& config, const std::optional<Error>& broken) {
  if (broken) {
    return {State::kFail, "configuration", Shown(broken->message),
            broken->hint.empty() ? "mend the file" : Shown(broken->hint)};
  }
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

std::vector<DoctorCheck> RunDoctor(const Config& config, const std::optional<Error>& config_error,
                                   const ResolveOptions& options) {
  return {CheckCpu(),   CheckKernelResults(),    CheckMemory(),
          CheckGpu(),   CheckModelsDir(options), CheckDownloads(options),
          CheckDemo(),  CheckAliases(),          CheckConfig(config, config_error),
          CheckToken(), CheckLimits(),           CheckClock()};
}

}  // namespace quern
