// Evidence: what was measured of a kernel on a device, and the judgement whether that admits the kernel. It only
// judges; tools/evidence_collect runs kernels and writes the records (records/<arch>.jsonl, one line per kernel).
//
// A record counts for exactly the text that was run: the kernel's IR, its source and the device header are named by
// their SHA-256. The summary of a record is never trusted: it is computed again from the cases. Values; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace quern::kernels {

enum class Verdict : uint8_t { kQualified, kMissing, kStale, kFailed };
std::string_view NameOf(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kMissing;
  std::string reason;  // empty when qualified
};

// What a kernel is now.
struct ArtifactIdentity {
  std::string kernel_id;
  std::string ir_sha256, source_sha256, device_text_sha256;
  friend bool operator==(const ArtifactIdentity&, const ArtifactIdentity&) = default;
};

// At least these many cases, each run this often with equal bits.
inline constexpr int kLeastCases = 3, kLeastRepeats = 20;
inline constexpr int kEvidenceSchema = 1;

class EvidenceSet {
 public:
  // Of the lines of a records file. Corrupt: a line that is no JSON object with a kernel id, or a kernel named twice.
  static Result<EvidenceSet> Parse(std::string_view lines, std::string_view file);

  Judgement Judge(const ArtifactIdentity& artifact, int compute_capability) const;
  size_t size() const { return records_.size(); }

 private:
  std::map<std::string, std::string, std::less<>> records_;  // kernel id -> its line
};

}  // namespace quern::kernels
