#include "tensor/codec.h"

#include <limits>

#include "base/check.h"
#include "tensor/codec_blocks.h"

namespace quern {
namespace {

using codec::DecodeRowFn;
using codec::EncodeRowFn;
using codec::Floats;

void DecodeF32(const uint8_t* blocks, std::span<float> out) {
  if (!out.empty()) std::memcpy(out.data(), blocks, out.size_bytes());
}
void EncodeF32(Floats values, Floats, uint8_t* blocks) {
  if (!values.empty()) std::memcpy(blocks, values.data(), values.size_bytes());
}

template <float (*kWiden)(uint16_t)>
void DecodeSixteenBit(const uint8_t* blocks, std::span<float> out) {
  for (float& value : out) {
    value = kWiden(codec::Load<uint16_t>(blocks));
    blocks += 2;
  }
}
template <uint16_t (*kNarrow)(float)>
void EncodeSixteenBit(Floats values, Floats, uint8_t* blocks) {
  for (const float value : values) {
    codec::Store(blocks, kNarrow(value));
    blocks += 2;
  }
}

template <typename T>
void DecodeNumber(const uint8_t* blocks, std::span<float> out) {
  for (float& value : out) {
    value = static_cast<float>(codec::Load<T>(blocks));
    blocks += sizeof(T);
  }
}
void EncodeF64(Floats values, Floats, uint8_t* blocks) {
  for (const float value : values) {
    codec::Store(blocks, static_cast<double>(value));
    blocks += sizeof(double);
  }
}

struct Codec {
  DecodeRowFn decode;
  EncodeRowFn encode;  // null for the integers
  // Magnitudes from here on do not fit: the stored scale or value would round to infinity.
  float limit;
};

constexpr float kUnlimited = std::numeric_limits<float>::infinity();
constexpr float kHalfLimit = 65520.0f;  // rounds to infinity in binary16

// In the order of DType. A scale alone covers its largest code times the largest half. The K-quants and IQ4 would reach
// further; their limit is that of a plain half, which keeps the sums of the searches far from overflow.
constexpr std::array<Codec, kNumDTypes> kCodecs = {{
    {DecodeF32, EncodeF32, kUnlimited},
    {DecodeSixteenBit<HalfToFloat>, EncodeSixteenBit<FloatToHalf>, kHalfLimit},
    {DecodeSixteenBit<Bf16ToFloat>, EncodeSixteenBit<FloatToBf16>, 0x1.FFp127f},
    {codec::DecodeQ4_0, codec::EncodeQ4_0, 8 * kHalfLimit},
    {codec::DecodeQ4_1, codec::EncodeQ4_1, kHalfLimit},
    {codec::DecodeQ5_0, codec::EncodeQ5_0, 16 * kHalfLimit},
    {codec::DecodeQ5_1, codec::EncodeQ5_1, kHalfLimit},
    {codec::DecodeQ8_0, codec::EncodeQ8_0, 127 * kHalfLimit},
    {codec::DecodeQ2K, codec::EncodeQ2K, kHalfLimit},
    {codec::DecodeQ3K, codec::EncodeQ3K, kHalfLimit},
    {codec::DecodeQ4K, codec::EncodeQ4K, kHalfLimit},
    {codec::DecodeQ5K, codec::EncodeQ5K, kHalfLimit},
    {codec::DecodeQ6K, codec::EncodeQ6K, kHalfLimit},
    {codec::DecodeIq4Nl, codec::EncodeIq4Nl, kHalfLimit},
    {codec::DecodeIq4Xs, codec::EncodeIq4Xs, kHalfLimit},
    {codec::DecodeMxfp4, codec::EncodeMxfp4, kUnlimited},
    {DecodeNumber<int8_t>, nullptr, 0.0f},
    {DecodeNumber<int16_t>, nullptr, 0.0f},
    {DecodeNumber<int32_t>, nullptr, 0.0f},
    {DecodeNumber<int64_t>, nullptr, 0.0f},
    {DecodeNumber<double>, EncodeF64, kUnlimited},
}};

const Codec& CodecOf(DType type) { return kCodecs[static_cast<size_t>(type)]; }

Status CheckValues(DType type, Floats values) {
  const float limit = CodecOf(type).limit;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::fabs(values[i]) < limit) continue;  // false for not-a-number
    if (!std::isfinite(values[i])) {
      return Fail(Code::kInvalidArgument, "value {} at index {} cannot be stored as {}", values[i], i, NameOf(type));
    }
    return WithHint(Fail(Code::kInvalidArgument, "value {} at index {} is too large for {}, which ends at {}",
                         values[i], i, NameOf(type), limit),
                    "store this tensor as F32");
  }
  return {};
}

Status CheckWeights(Floats weights) {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0f && std::isfinite(weights[i]))) {
      return Fail(Code::kInvalidArgument, "importance {} at index {} is not a finite number of at least 0", weights[i],
                  i);
    }
  }
  return {};
}

}  // namespace

void DecodeRow(DType type, const std::byte* blocks, std::span<float> out) {
  QUERN_DCHECK(out.size() % static_cast<size_t>(InfoOf(type).block_elems) == 0);
  CodecOf(type).decode(reinterpret_cast<const uint8_t*>(blocks), out);
}

Status EncodeRow(DType type, std::span<const float> values, std::span<const float> weights, std::byte* blocks) {
  QUERN_CHECK(values.size() % static_cast<size_t>(InfoOf(type).block_elems) == 0);
  QUERN_CHECK(weights.empty() || weights.size() == values.size());
  const Codec& codec = CodecOf(type);
  if (codec.encode == nullptr) {
    return Fail(Code::kUnsupported, "{} holds integers; floats are not encoded to it", NameOf(type));
  }
  QUERN_TRY(CheckValues(type, values));
  QUERN_TRY(CheckWeights(weights));
  codec.encode(values, weights, reinterpret_cast<uint8_t*>(blocks));
  return {};
}

Status ValidateBlocks(DType type, const std::byte* blocks, int64_t num_blocks) {
  if (type != DType::kMXFP4) return {};
  const int64_t block_bytes = InfoOf(type).block_bytes;
  for (int64_t block = 0; block < num_blocks; ++block) {
    if (blocks[block * block_bytes] == std::byte{255}) {
      return Fail(Code::kCorrupt, "MXFP4 block {} has the exponent 255, which means not-a-number", block);
    }
  }
  return {};
}

}  // namespace quern
