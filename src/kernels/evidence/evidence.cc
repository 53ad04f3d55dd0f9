#include "kernels/evidence/evidence.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/status.h"

namespace quern::kernels {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}
int64_t Number(const Json& record, const char* key, int64_t otherwise) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}
bool True(const Json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_boolean() && found->get<bool>();
}

Judgement Failed(std::string reason) { return {Verdict::kFailed, std::move(reason)}; }
Judgement Stale(std::string reason) { return {Verdict::kStale, std::move(reason)}; }

// What is wrong with one case, or nothing.
std::string WrongWith(const Json& c) {
  if (!c.is_object()) return "is no object";
  if (Number(c, "mismatches", -1) != 0) return fmt::format("has {} mismatches", Number(c, "mismatches", -1));
  if (!True(c, "repeats_equal")) return "gave different bits when repeated";
  if (!True(c, "guards_intact")) return "wrote outside of its output";
  if (Number(c, "repeats", 0) < kLeastRepeats)
    return fmt::format("was repeated {} times, not {}", Number(c, "repeats", 0), kLeastRepeats);
  return {};
}

}  // namespace

std::string_view NameOf(Verdict verdict) {
  constexpr std::string_view kNames[] = {"qualified", "missing", "stale", "failed"};
  return kNames[static_cast<size_t>(verdict)];
}

Result<EvidenceSet> EvidenceSet::Parse(std::string_view lines, std::string_view file) {
  EvidenceSet set;
  for (int number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    const auto record = ParseJson(line, fmt::format("{}, line {}", file, number));
    if (!record) return tl::unexpected(record.error());
    const std::string id = record->is_object() ? Text(*record, "kernel_id") : std::string();
    if (id.empty()) return Fail(Code::kCorrupt, "{}, line {}: a record without kernel_id", file, number);
    if (!set.records_.emplace(id, line).second)
      return Fail(Code::kCorrupt, "{}, line {}: a second record of {}", file, number, id);
  }
  return set;
}

Judgement EvidenceSet::Judge(const ArtifactIdentity& artifact, int compute_capability) const {
  const auto found = records_.find(artifact.kernel_id);
  if (found == records_.end()) return {Verdict::kMissing, "no record"};
  const auto record = ParseJson(found->second, artifact.kernel_id);
  if (!record) return Failed("the record is no JSON");
  if (Number(*record, "schema", -1) != kEvidenceSchema)
    return Failed(fmt::format("schema {} is not {}", Number(*record, "schema", -1), kEvidenceSchema));
  const std::pair<const char*, const std::string*> identities[] = {
      {"ir_sha256", &artifact.ir_sha256},
      {"source_sha256", &artifact.source_sha256},
      {"device_text_sha256", &artifact.device_text_sha256}};
  for (const auto& [key, now] : identities) {
    if (Text(*record, key) != *now)
      return Stale(fmt::format("{} is {}, the record is about {}", key, *now, Text(*record, key)));
  }
  const auto device = record->find("device");
  const int64_t measured =
      device != record->end() && device->is_object() ? Number(*device, "compute_capability", 0) : 0;
  if (measured != compute_capability)
    return Stale(fmt::format("measured on compute capability {}, not {}", measured, compute_capability));
  const auto cases = record->find("cases");
  if (cases == record->end() || !cases->is_array() || cases->size() < kLeastCases)
    return Failed(fmt::format("fewer than {} cases", kLeastCases));
  for (size_t i = 0; i < cases->size(); ++i) {
    if (std::string wrong = WrongWith((*cases)[i]); !wrong.empty()) return Failed(fmt::format("case {} {}", i, wrong));
  }
  return {Verdict::kQualified, {}};
}

}  // namespace quern::kernels
