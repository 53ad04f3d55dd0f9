#include "tools/kernelgen/render.h"

#include <deque>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "kernels/descriptor/catalogue.h"
#include "kernels/ir/gen/generate.h"
#include "kernels/lower/cuda/emit.h"

namespace quern::kernelgen {
namespace {

using kernels::CatalogueEntry;
using kernels::ir::Kernel;
using kernels::lower::Source;
using Json = nlohmann::ordered_json;

struct Generated {
  CatalogueEntry entry;
  Kernel kernel;
};

Json Record(const Generated& g, const std::map<std::string, std::string>& files) {
  const Kernel& k = g.kernel;
  const std::string cuda = "cuda/" + g.entry.file() + ".cu";
  Json record;
  record["kernel_id"] = k.id;
  record["family"] = NameOf(g.entry.descriptor.family);
  record["descriptor_id"] = DescriptorId(g.entry.descriptor);
  record["descriptor"] = CanonicalText(g.entry.descriptor);
  record["schedule"] = CanonicalText(g.entry.schedule);
  record["ir_sha256"] = Sha256Hex(Dump(k));
  record["sources"]["cuda"] = {{"path", cuda}, {"sha256", Sha256Hex(files.at(cuda))}};
  record["launch"] = {{"threads", k.threads()}, {"shared_bytes", k.shared_bytes()}};
  Json parameters = Json::array(), buffers = Json::array();
  for (const kernels::ir::Param& p : k.params) {
    parameters.push_back(
        {{"name", p.name}, {"type", NameOf(p.type)}, {"min", p.min}, {"max", p.max}, {"multiple_of", p.multiple_of}});
  }
  constexpr const char* kAccess[] = {"read", "write", "readwrite"};
  for (const kernels::ir::Buffer& b : k.buffers)
    buffers.push_back({{"name", b.name}, {"access", kAccess[static_cast<size_t>(b.access)]}, {"align", b.align}});
  record["launch"]["parameters"] = std::move(parameters);
  record["launch"]["buffers"] = std::move(buffers);
  return record;
}

}  // namespace

Result<std::map<std::string, std::string>> RenderArtifacts() {
  std::vector<Generated> all;
  for (const CatalogueEntry& entry : kernels::Catalogue()) {
    QUERN_ASSIGN_OR_RETURN(Kernel kernel, kernels::ir::gen::Generate(entry.descriptor, entry.schedule));
    all.push_back({entry, std::move(kernel)});
  }
  std::map<std::string, std::vector<Source>> by_file;
  for (const Generated& g : all)
    by_file[g.entry.file()].push_back({&g.kernel, CanonicalText(g.entry.descriptor), CanonicalText(g.entry.schedule)});
  std::map<std::string, std::string> files;
  for (const auto& [name, sources] : by_file) files["cuda/" + name + ".cu"] = kernels::lower::EmitCuda(sources);

  Json manifest;
  manifest["schema"] = 1;
  manifest["generator"] = "kernelgen 1";
  std::map<std::string, Json> records;  // sorted by id
  for (const Generated& g : all) records[g.kernel.id] = Record(g, files);
  manifest["kernels"] = Json::array();
  for (auto& [id, record] : records) manifest["kernels"].push_back(std::move(record));
  files["manifest.json"] = manifest.dump(1) + "\n";
  return files;
}

Result<std::vector<std::string>> CheckArtifacts(const std::filesystem::path& folder) {
  QUERN_ASSIGN_OR_RETURN(const auto expected, RenderArtifacts());
  std::vector<std::string> problems;
  for (const auto& [path, content] : expected) {
    const Result<std::string> found = ReadFile(folder / path);
    if (!found) {
      problems.push_back(fmt::format("{}: missing", path));
    } else if (*found != content) {
      problems.push_back(fmt::format("{}: stale or edited", path));
    }
  }
  std::error_code error;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder, error)) {
    const std::string path = std::filesystem::relative(item.path(), folder).generic_string();
    if (item.is_regular_file() && path != "CMakeLists.txt" && item.path().extension() != ".cc" &&
        item.path().extension() != ".h" && !expected.contains(path)) {
      problems.push_back(fmt::format("{}: belongs to no kernel of the catalogue", path));
    }
  }
  return problems;
}

}  // namespace quern::kernelgen
