// The log-probabilities of one perplexity run, kept for comparing another run with it (KL divergence).
//
// Layout, little-endian: a header of 64 bytes
//   "QKLB", u32 version 1, u64 V, u64 scored rows, i64 context, i64 stride, i64 score_from, u64 hash of the chunks'
//   tokens, 8 zero bytes;
// then per scored row, in the order of scoring: f32 low, f32 step, u16 code[V]: log-probability = low + step * code.
// Low and step span the row, so an error is at most half a step: some 3e-4 nats. A row has 2 V + 8 bytes: 0.5 MB for a
// vocabulary of 262,144. The input is hostile: sizes are checked against the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace quern::engine {

// What two runs must have in common to be comparable.
struct KlBaseHeader {
  uint64_t vocab_size = 0, num_rows = 0;
  int64_t context = 0, stride = 0, score_from = 0;
  uint64_t token_hash = 0;
  bool operator==(const KlBaseHeader&) const = default;
};

// FNV-1a over the ids.
uint64_t HashTokens(std::span<const int32_t> ids);

int64_t KlRowBytes(uint64_t vocab_size);
// logprobs [V], all finite or -inf (stored as the row's lowest finite value); row: KlRowBytes.
void EncodeKlRow(std::span<const float> logprobs, std::span<std::byte> row);
void DecodeKlRow(std::span<const std::byte> row, std::span<float> logprobs);

class KlBaseWriter {
 public:
  // An existing file is not replaced: InvalidArgument.
  static Result<KlBaseWriter> Create(const std::filesystem::path& path, const KlBaseHeader& header);
  Status Append(std::span<const std::byte> row) { return file_.Write(row); }
  Status Finish() { return file_.Commit(); }

 private:
  explicit KlBaseWriter(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
};

class KlBaseReader {
 public:
  // Corrupt for a file of another kind or size.
  static Result<KlBaseReader> Open(const std::filesystem::path& path);
  const KlBaseHeader& header() const { return header_; }
  std::span<const std::byte> Row(int64_t index) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  KlBaseHeader header_;
};

}  // namespace quern::engine
