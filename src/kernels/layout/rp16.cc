#include "kernels/layout/rp16.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace quern::kernels {
namespace {

bool IsHalfFloat(DType type) { return type == DType::kF16 || type == DType::kBF16; }

// Writes one row of one block. `row` is 0 .. 15.
class BlockWriter {
 public:
  BlockWriter(const Rp16Format& layout, std::byte* group, std::byte* block, uint32_t row)
      : layout_(layout), group_(group), block_(block), row_(row), slot_(2 * (row % 8) + row / 8) {}

  void Planes(const CodeForm& form, const CodeBlock& codes) {
    const uint32_t g = row_ % 8, r = row_ / 8;
    for (uint32_t e = 0; e < 32; ++e) {
      const uint32_t h = e / 16, t = e % 16 / 4, i = e % 4, lane = 4 * g + t;
      const uint32_t code = codes.codes[e];
      switch (layout_.low_bits) {
        case 8:
          Or(lane * 16 + 8 * h + 4 * r + i, code);
          break;
        case 4:
          if (form.table != CodeTable::kNone) {
            Or(lane * 8 + 4 * r + 2 * h + i / 2, (code & 15) << (4 * (i % 2)));
          } else {
            Or(lane * 8 + 4 * r + i, (code & 15) << (4 * h));
          }
          break;
        default:
          Or(lane * 4 + i, (code & 3) << (4 * r + 2 * h));
      }
      const uint32_t high = code >> layout_.low_bits;
      if (layout_.high_bits == 2)
        Or(static_cast<uint32_t>(layout_.high_plane) + lane * 4 + i, (high & 3) << (4 * r + 2 * h));
      if (layout_.high_bits == 1)
        Or(static_cast<uint32_t>(layout_.high_plane) + lane * 2 + r, (high & 1) << (4 * h + i));
    }
  }

  void Scales(const CodeForm& form, const CodeBlock& codes) {
    if (form.scale == ScaleKind::kE8m0PerBlock) {
      block_[layout_.scale + slot_] = static_cast<std::byte>(codes.scale);
    } else if (layout_.scale >= 0) {
      std::memcpy(block_ + layout_.scale + 2 * slot_, &codes.scale, 2);
      if (layout_.min_scale >= 0) std::memcpy(block_ + layout_.min_scale + 2 * slot_, &codes.min_scale, 2);
    } else {
      std::memcpy(group_ + 2 * slot_, &codes.scale, 2);
      if (form.has_min) std::memcpy(group_ + 32 + 2 * slot_, &codes.min_scale, 2);
    }
    PutHalves(layout_.sub_scales, form.sub_scales, [&](int h) { return static_cast<std::byte>(codes.sub_scales[h]); });
    PutHalves(layout_.mins, form.min_codes, [&](int h) { return static_cast<std::byte>(codes.mins[h]); });
  }

 private:
  void Or(uint32_t at, uint32_t bits) { block_[at] |= static_cast<std::byte>(bits); }

  template <typename F>
  void PutHalves(int at, int halves, const F& value) {
    for (int h = 0; h < halves; ++h)
      block_[at + static_cast<int>(2 * halves * (row_ % 8) + 2 * h + row_ / 8)] = value(h);
  }

  const Rp16Format& layout_;
  std::byte* group_;
  std::byte* block_;
  uint32_t row_, slot_;
};

void PackHalfFloats(const std::byte* row_values, int64_t block, uint32_t row, std::byte* out) {
  for (uint32_t e = 0; e < 32; ++e) {
    const uint32_t k = e % 16, h = k / 8, t = k % 8 / 2, lane = 4 * (row % 8) + t;
    std::memcpy(out + 512 * (e / 16) + 16 * lane + 8 * h + 4 * (row / 8) + 2 * (k % 2),
                row_values + 2 * (32 * block + e), 2);
  }
}

}  // namespace

Rp16Format Rp16FormatOf(DType type) {
  Rp16Format layout;
  if (IsHalfFloat(type)) {
    layout.low_bits = 16;
    layout.block_bytes = 1024;
    return layout;
  }
  QUERN_CHECK(InfoOf(type).is_quantized);
  const CodeForm form = CodeFormOf(type);
  layout.low_bits = form.code_bits == 8 ? 8 : form.code_bits >= 4 ? 4 : 2;
  layout.high_bits = form.code_bits - layout.low_bits;
  int at = 64 * layout.low_bits;
  const auto part = [&](bool present, int bytes) {
    if (!present) return -1;
    at += bytes;
    return at - bytes;
  };
  layout.high_plane = part(layout.high_bits != 0, 64 * layout.high_bits);
  const bool per_block = form.scale != ScaleKind::kHalfPerSuperblock;
  layout.scale = part(per_block, form.scale == ScaleKind::kE8m0PerBlock ? 16 : 32);
  layout.min_scale = part(per_block && form.has_min, 32);
  layout.sub_scales = part(form.sub_scales != 0, 16 * form.sub_scales);
  layout.mins = part(form.min_codes != 0, 16 * form.min_codes);
  layout.block_bytes = at;
  if (!per_block) layout.head_bytes = form.has_min ? 64 : 32;
  return layout;
}

int64_t Rp16PanelBytes(DType type, int64_t num_cols) {
  const Rp16Format layout = Rp16FormatOf(type);
  const int64_t blocks = num_cols / 32;
  return blocks * layout.block_bytes + blocks / kGroupBlocks * layout.head_bytes;
}

int64_t Rp16Bytes(DType type, int64_t num_rows, int64_t num_cols) {
  return (num_rows + kRp16Rows - 1) / kRp16Rows * Rp16PanelBytes(type, num_cols);
}

Status PackRp16(const TensorView& source, std::span<std::byte> out) {
  const DType type = source.dtype;
  if (!IsHalfFloat(type) && !InfoOf(type).is_quantized) {
    return Fail(Code::kUnsupported, "the layout rp16 does not hold {} weights", NameOf(type));
  }
  const int64_t rows = source.num_rows(), cols = source.row_elems();
  if (cols % 32 != 0)
    return Fail(Code::kUnsupported, "the layout rp16 needs a multiple of 32 columns; the matrix has {}", cols);
  QUERN_CHECK(static_cast<int64_t>(out.size()) == Rp16Bytes(type, rows, cols));
  std::fill(out.begin(), out.end(), std::byte{0});
  const Rp16Format layout = Rp16FormatOf(type);
  const int64_t panel_bytes = Rp16PanelBytes(type, cols);
  const int64_t group_bytes = layout.head_bytes + int64_t{kGroupBlocks} * layout.block_bytes;
  for (int64_t n = 0; n < rows; ++n) {
    std::byte* panel = out.data() + n / kRp16Rows * panel_bytes;
    for (int64_t b = 0; b < cols / 32; ++b) {
      std::byte* group = panel + b / kGroupBlocks * group_bytes;
      std::byte* block = group + layout.head_bytes + b % kGroupBlocks * layout.block_bytes;
      const auto row = static_cast<uint32_t>(n % kRp16Rows);
      if (IsHalfFloat(type)) {
        PackHalfFloats(source.row(n), b, row, block);
        continue;
      }
      const CodeBlock codes = ReadCodeBlock(type, source.row(n), b);
      BlockWriter writer(layout, group, block, row);
      writer.Planes(CodeFormOf(type), codes);
      writer.Scales(CodeFormOf(type), codes);
    }
  }
  return {};
}

}  // namespace quern::kernels
