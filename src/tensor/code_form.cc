#include "tensor/code_form.h"

#include "base/check.h"
#include "tensor/codec_k_scales.h"

namespace quern {
namespace {

const uint8_t* Bytes(const std::byte* p) { return reinterpret_cast<const uint8_t*>(p); }
uint16_t U16(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
uint8_t Nibble(const uint8_t* packed, int e) { return static_cast<uint8_t>((packed[e % 16] >> (4 * (e / 16))) & 15); }

// Formats of 32 values.
CodeBlock ReadSmall(DType type, const uint8_t* p) {
  CodeBlock b;
  const bool has_min = type == DType::kQ4_1 || type == DType::kQ5_1;
  const bool five = type == DType::kQ5_0 || type == DType::kQ5_1;
  if (type == DType::kMXFP4) {
    b.scale = *p++;
  } else {
    b.scale = U16(p);
    p += 2;
  }
  if (has_min) {
    b.min_scale = U16(p);
    p += 2;
  }
  if (type == DType::kQ8_0) {
    for (int e = 0; e < 32; ++e) b.codes[e] = p[e];
    return b;
  }
  const uint32_t high = five ? static_cast<uint32_t>(U16(p)) | static_cast<uint32_t>(U16(p + 2)) << 16 : 0;
  if (five) p += 4;
  for (int e = 0; e < 32; ++e) b.codes[e] = static_cast<uint8_t>(Nibble(p, e) | ((high >> e) & 1) << 4);
  return b;
}

// Block b of 8 in a superblock of 256 values.
CodeBlock ReadSuper(DType type, const uint8_t* p, int b) {
  CodeBlock out;
  switch (type) {
    case DType::kQ2_K:
      out.scale = U16(p + 80);
      out.min_scale = U16(p + 82);
      for (int h = 0; h < 2; ++h) {
        out.sub_scales[h] = static_cast<int8_t>(p[2 * b + h] & 15);
        out.mins[h] = static_cast<uint8_t>(p[2 * b + h] >> 4);
      }
      for (int e = 0; e < 32; ++e) out.codes[e] = (p[16 + 32 * (b / 4) + e] >> (2 * (b % 4))) & 3;
      return out;
    case DType::kQ3_K:
      out.scale = U16(p + 108);
      for (int h = 0; h < 2; ++h) out.sub_scales[h] = static_cast<int8_t>(codec::UnpackSignedScale(p + 96, 2 * b + h));
      for (int e = 0; e < 32; ++e) {
        out.codes[e] = static_cast<uint8_t>(((p[32 + 32 * (b / 4) + e] >> (2 * (b % 4))) & 3) | ((p[e] >> b) & 1) << 2);
      }
      return out;
    case DType::kQ4_K:
    case DType::kQ5_K: {
      const bool five = type == DType::kQ5_K;
      out.scale = U16(p);
      out.min_scale = U16(p + 2);
      out.sub_scales[0] = out.sub_scales[1] = static_cast<int8_t>(codec::UnpackScale(p + 4, b));
      out.mins[0] = out.mins[1] = static_cast<uint8_t>(codec::UnpackMin(p + 4, b));
      const uint8_t* low = p + (five ? 48 : 16) + 32 * (b / 2);
      for (int e = 0; e < 32; ++e) {
        out.codes[e] =
            static_cast<uint8_t>(((low[e] >> (4 * (b % 2))) & 15) | (five ? ((p[16 + e] >> b) & 1) << 4 : 0));
      }
      return out;
    }
    case DType::kQ6_K:
      out.scale = U16(p + 208);
      for (int h = 0; h < 2; ++h) out.sub_scales[h] = static_cast<int8_t>(p[192 + 2 * b + h]);
      for (int e = 0; e < 32; ++e) {
        const int low = (p[64 * (b / 4) + 32 * (b % 2) + e] >> (4 * ((b % 4) / 2))) & 15;
        out.codes[e] = static_cast<uint8_t>(low | ((p[128 + 32 * (b / 4) + e] >> (2 * (b % 4))) & 3) << 4);
      }
      return out;
    case DType::kIQ4_XS: {
      out.scale = U16(p);
      const int low = (p[4 + b / 2] >> (4 * (b % 2))) & 15;
      out.sub_scales[0] = out.sub_scales[1] = static_cast<int8_t>((low | ((U16(p + 2) >> (2 * b)) & 3) << 4) - 32);
      for (int e = 0; e < 32; ++e) out.codes[e] = Nibble(p + 8 + 16 * b, e);
      return out;
    }
    default:
      QUERN_CHECK(false && "not a format of 256 values");
      return out;
  }
}

}  // namespace

CodeBlock ReadCodeBlock(DType type, const std::byte* row, int64_t index) {
  const DTypeInfo& info = InfoOf(type);
  QUERN_CHECK(info.is_quantized);
  return info.block_elems == 32
             ? ReadSmall(type, Bytes(row) + index * info.block_bytes)
             : ReadSuper(type, Bytes(row) + index / 8 * info.block_bytes, static_cast<int>(index % 8));
}

}  // namespace quern
