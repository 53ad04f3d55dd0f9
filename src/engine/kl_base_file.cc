#include "engine/kl_base_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace quern::engine {
namespace {

constexpr char kMagic[4] = {'Q', 'K', 'L', 'B'};
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 64;
constexpr uint64_t kMaxVocab = uint64_t{1} << 24;
constexpr float kMaxCode = 65535.0f;

struct RawHeader {
  char magic[4];
  uint32_t version;
  KlBaseHeader fields;
  uint64_t reserved;
};
static_assert(sizeof(RawHeader) == kHeaderBytes);

}  // namespace

uint64_t HashTokens(std::span<const int32_t> ids) {
  uint64_t hash = 14695981039346656037u;
  for (const std::byte byte : std::as_bytes(ids)) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 1099511628211u;
  return hash;
}

int64_t KlRowBytes(uint64_t vocab_size) {
  return static_cast<int64_t>(2 * sizeof(float) + vocab_size * sizeof(uint16_t));
}

void EncodeKlRow(std::span<const float> logprobs, std::span<std::byte> row) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (const float value : logprobs) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const float step = high > low ? (high - low) / kMaxCode : 0.0f;
  std::memcpy(row.data(), &low, sizeof(low));
  std::memcpy(row.data() + sizeof(low), &step, sizeof(step));
  std::byte* codes = row.data() + 2 * sizeof(float);
  for (size_t i = 0; i < logprobs.size(); ++i) {
    const float scaled = step > 0 && std::isfinite(logprobs[i]) ? (logprobs[i] - low) / step : 0.0f;
    const auto code = static_cast<uint16_t>(std::lround(std::clamp(scaled, 0.0f, kMaxCode)));
    std::memcpy(codes + i * sizeof(code), &code, sizeof(code));
  }
}

void DecodeKlRow(std::span<const std::byte> row, std::span<float> logprobs) {
  float low = 0, step = 0;
  std::memcpy(&low, row.data(), sizeof(low));
  std::memcpy(&step, row.data() + sizeof(low), sizeof(step));
  const std::byte* codes = row.data() + 2 * sizeof(float);
  for (size_t i = 0; i < logprobs.size(); ++i) {
    uint16_t code = 0;
    std::memcpy(&code, codes + i * sizeof(code), sizeof(code));
    logprobs[i] = low + step * static_cast<float>(code);
  }
}

Result<KlBaseWriter> KlBaseWriter::Create(const std::filesystem::path& path, const KlBaseHeader& header) {
  QUERN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path, AtomicFile::IfExists::kFail));
  RawHeader raw{};
  std::memcpy(raw.magic, kMagic, sizeof(kMagic));
  raw.version = kVersion;
  raw.fields = header;
  QUERN_TRY(file.Write(std::as_bytes(std::span(&raw, 1))));
  return KlBaseWriter(std::move(file));
}

Result<KlBaseReader> KlBaseReader::Open(const std::filesystem::path& path) {
  KlBaseReader reader;
  QUERN_ASSIGN_OR_RETURN(reader.file_, MappedFile::Open(path));
  const std::span<const std::byte> bytes = reader.file_->bytes();
  RawHeader raw{};
  if (bytes.size() < kHeaderBytes) return Fail(Code::kCorrupt, "{} is too short for log-probabilities", path.string());
  std::memcpy(&raw, bytes.data(), kHeaderBytes);
  if (std::memcmp(raw.magic, kMagic, sizeof(kMagic)) != 0) {
    return WithHint(Fail(Code::kCorrupt, "{} holds no log-probabilities of a perplexity run", path.string()),
                    "write one with --kl-base-out");
  }
  if (raw.version != kVersion)
    return Fail(Code::kUnsupported, "{} has version {}; this build reads {}", path.string(), raw.version, kVersion);
  reader.header_ = raw.fields;
  const uint64_t vocab = reader.header_.vocab_size, rows = reader.header_.num_rows;
  const uint64_t data_bytes = bytes.size() - kHeaderBytes;
  if (vocab == 0 || vocab > kMaxVocab || rows != data_bytes / static_cast<uint64_t>(KlRowBytes(vocab)) ||
      data_bytes % static_cast<uint64_t>(KlRowBytes(vocab)) != 0) {
    return Fail(Code::kCorrupt, "{} has {} bytes of rows, which is not {} rows of {} tokens", path.string(), data_bytes,
                rows, vocab);
  }
  return reader;
}

std::span<const std::byte> KlBaseReader::Row(int64_t index) const {
  const auto row_bytes = static_cast<size_t>(KlRowBytes(header_.vocab_size));
  return file_->bytes().subspan(kHeaderBytes + static_cast<size_t>(index) * row_bytes, row_bytes);
}

}  // namespace quern::engine
