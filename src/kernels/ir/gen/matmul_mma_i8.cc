#include "kernels/ir/gen/matmul_mma_i8.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "kernels/ir/builder.h"
#include "kernels/ir/gen/kernel_name.h"
#include "kernels/ir/gen/qa8_operand.h"
#include "kernels/ir/gen/rp16_block.h"
#include "kernels/layout/qa8_tile.h"
#include "kernels/layout/rp16.h"
#include "tensor/code_form.h"

namespace quern::kernels::ir::gen {
namespace {

// An i32 sum below 2^22 in magnitude, added to these bits, is the float 1.5 * 2^23 + sum: a subtraction converts it.
constexpr float kMagic = 12582912.0f;
constexpr int32_t kMagicBits = 0x4B400000;

class Generator {
 public:
  Generator(const Descriptor& descriptor, const Schedule& schedule)
      : format_(descriptor.weights[0].format),
        form_(CodeFormOf(format_)),
        layout_(Rp16FormatOf(format_)),
        s_(schedule),
        chains_(8 / schedule.split),
        group_bytes_(static_cast<uint32_t>(layout_.head_bytes + 8 * layout_.block_bytes)),
        b_({.warps = schedule.warps, .min_blocks = schedule.min_blocks}) {
    const Dim &r = *descriptor.dim("R"), &n = *descriptor.dim("N"), &k = *descriptor.dim("K");
    rows_ = b_.U32Param("rows", r.min, r.max);
    n_ = b_.U32Param("n", n.min, n.max);
    // A stage may reach one panel ahead, not two: a panel has at least as many groups as stages are in flight.
    const uint32_t multiple = std::max(1u, k.multiple_of / 32);
    const uint32_t least = std::max(k.min / 32, 8 * ((s_.stages - 1) * s_.unroll - 1) + 1);
    blocks_ = b_.U32Param("blocks", (least + multiple - 1) / multiple * multiple, k.max / 32, multiple);
    ragged_ = k.multiple_of % 256 != 0;
  }

  Kernel Run() {
    Value panels = b_.DivideUp(n_, kRp16Rows);
    row_tiles_ = b_.DivideUp(rows_, kTileRows);
    const uint32_t panels_per_tile = s_.warps / s_.split * s_.rows_per_warp;
    const Value num_tiles = b_.DivideUp(panels, panels_per_tile) * row_tiles_;
    const Value pairs_wide = b_.Wide(b_.DivideUp(blocks_, 2));
    const Value panel_bytes = b_.Wide(blocks_) * static_cast<uint32_t>(layout_.block_bytes) +
                              b_.Wide(blocks_ / 8) * static_cast<uint32_t>(layout_.head_bytes);
    w_ = b_.AddBuffer("w", Access::kRead, b_.Wide(panels) * panel_bytes);
    q_ = b_.AddBuffer("q", Access::kRead, b_.Wide(row_tiles_) * pairs_wide * 512);
    d_ = b_.AddBuffer("d", Access::kRead, b_.Wide(row_tiles_) * pairs_wide * 64);
    if (form_.has_min) isum_ = b_.AddBuffer("isum", Access::kRead, b_.Wide(row_tiles_) * pairs_wide * 128);
    y_ = b_.AddBuffer("y", Access::kWrite, b_.Wide(rows_) * b_.Wide(n_) * 4);
    stage_bytes_ =
        s_.unroll * (static_cast<uint32_t>(layout_.head_bytes) + chains_ * static_cast<uint32_t>(layout_.block_bytes));
    ring_ = b_.AddShared("ring", s_.warps * s_.stages * stage_bytes_);
    if (s_.split > 1) sums_ = b_.AddShared("sums", s_.warps * chains_ * 512);

    panels_ = b_.Let("panels", panels);
    panel_bytes_ = b_.Let("panel_bytes", panel_bytes);
    pairs_ = b_.Let("pairs", b_.DivideUp(blocks_, 2));
    groups_ = b_.Let("groups", b_.DivideUp(blocks_, 8));
    stages_per_panel_ = s_.unroll == 1 ? groups_ : b_.Let("stages_per_panel", b_.DivideUp(groups_, s_.unroll));
    row_tile_ = b_.Let("row_tile", b_.Tile() % row_tiles_);
    part_ = s_.split == 1 ? b_.U32(0) : b_.Let("part", b_.Warp() % s_.split);
    first_ = b_.Let("first_panel", b_.Tile() / row_tiles_ * panels_per_tile + b_.Warp() / s_.split * s_.rows_per_warp);
    reader_ = {format_, b_.Lane(), b_.Let("g", b_.Lane() >> 2), b_.Let("t", b_.Lane() & 3)};
    ring_base_ = b_.Let("ring_base", b_.Warp() * (s_.stages * stage_bytes_));
    const Value has_row = b_.Let("has_row", row_tile_ * kTileRows + reader_.g < rows_);
    x_.emplace(b_, Qa8Reader::Options{q_, d_, isum_, form_.has_min, chains_, part_, row_tile_, pairs_, has_row});
    lane_at_ = b_.Let("lane_at", b_.Lane() * 16);

    const Value first_at = PanelAt(first_);
    for (uint32_t i = 0; i + 1 < s_.stages; ++i) IssueStage(first_at, b_.U32(i), b_.U32(i), b_.Pred(true));
    const Reg slot = b_.Declare("slot", kU32);
    b_.Set(slot, b_.U32(0));
    const auto panel_loop = [&](Value offset) { RunPanel(first_ + offset, offset, slot); };
    if (s_.rows_per_warp == 1) {
      panel_loop(b_.U32(0));
    } else {
      b_.For("panel_index", b_.U32(0), b_.U32(s_.rows_per_warp), {.unroll = 1}, panel_loop);
    }
    return std::move(b_).Finish(num_tiles);
  }

 private:
  // Where this lane's copies from a panel begin. Panels beyond the last one repeat it, and nothing of them is stored:
  // cheaper than a branch around the products.
  Value PanelAt(Value panel) {
    return b_.Let("panel_at", b_.Wide(b_.Min(panel, panels_ - 1)) * panel_bytes_ + b_.Wide(lane_at_));
  }

  // Starts the copies of one stage of a panel into a slot: the heads and this warp's blocks of its groups.
  void IssueStage(Value panel_at, Value stage, Value slot, Value wanted) {
    const uint32_t head = static_cast<uint32_t>(layout_.head_bytes);
    const uint32_t part_bytes = chains_ * static_cast<uint32_t>(layout_.block_bytes);
    const Value dst = b_.Let("slot_at", ring_base_ + lane_at_ + slot * stage_bytes_);
    for (uint32_t u = 0; u < s_.unroll; ++u) {
      const Value group = s_.unroll == 1 ? stage : b_.Let("group", stage * s_.unroll + u);
      const Value group_at = b_.Let("group_at", panel_at + b_.Wide(group) * group_bytes_);
      const Value in_panel = b_.Let("in_panel", wanted & (group < groups_));
      const Value to = dst + u * (head + part_bytes);
      if (head != 0) CopyChunks(head, to, group_at, in_panel, {});
      Value limit{};  // bytes of this warp's blocks that exist
      if (ragged_) {
        const Value first_block = b_.Let("first_block", group * 8 + part_ * chains_);
        const Value count = b_.Select(first_block < blocks_, b_.Min(blocks_ - first_block, b_.U32(chains_)), b_.U32(0));
        limit = b_.Let("limit", count * static_cast<uint32_t>(layout_.block_bytes));
      }
      CopyChunks(part_bytes, to + head, b_.Let("part_at", group_at + b_.Wide(part_ * part_bytes + head)), in_panel,
                 limit);
    }
    b_.AsyncCommit();
  }

  // Chunks that do not exist are not copied, and never read: their slots keep what they had. `to` and `from` are this
  // lane's first chunk.
  void CopyChunks(uint32_t bytes, Value to, Value from, Value allowed, Value limit) {
    for (uint32_t at = 0; at < bytes; at += 512) {
      Value condition = allowed;
      if (limit.builder != nullptr) {
        condition = condition & (lane_at_ + at < limit);
      } else if (at + 512 > bytes) {
        condition = condition & (lane_at_ < b_.U32(bytes - at));
      }
      b_.If(condition, Uniform::kThread, [&] { b_.AsyncCopy(ring_, to + at, w_, from + b_.U64(at)); });
    }
  }

  void RunPanel(Value panel_expr, Value panel_index, Reg slot) {
    const Value panel = b_.Let("panel", panel_expr);
    const bool last = s_.rows_per_warp == 1;  // no panel follows
    const Value panel_at = PanelAt(panel), next_at = last ? panel_at : PanelAt(panel + 1);
    acc_.clear();
    for (uint32_t c = 0; c < chains_; ++c) {
      for (uint32_t i = 0; i < 4; ++i) {
        acc_.push_back(b_.Declare("acc" + std::to_string(c) + "_" + std::to_string(i), kF32));
        b_.Set(acc_.back(), b_.F32(0));
      }
    }
    // Warps with few chains are few, so each waits for its own loads: activations are read one stage ahead. With many
    // chains they come from L1 and registers are dear.
    std::vector<PairOperand> now, next;
    if (ReadsAhead()) {
      for (uint32_t i = 0; i < s_.unroll * PairsPerGroup(); ++i) {
        now.push_back(x_->Declare("x" + std::to_string(i)));
        next.push_back(x_->Declare("next_x" + std::to_string(i)));
      }
      LoadStage(next, b_.U32(0));
    }
    b_.For("stage", b_.U32(0), stages_per_panel_, {.unroll = 1}, [&](Value stage) {
      for (size_t i = 0; i < now.size(); ++i) Qa8Reader::Copy(b_, now[i], next[i]);
      if (!now.empty()) LoadStage(next, stage + 1);
      b_.AsyncWait(s_.stages - 2);
      b_.WarpSync();
      IssueAhead(stage, slot, panel_index, panel_at, next_at, last);
      const Value base = b_.Let("base", ring_base_ + slot.value() * stage_bytes_);
      for (uint32_t u = 0; u < s_.unroll; ++u) {
        const std::span<const PairOperand> operands =
            now.empty() ? std::span<const PairOperand>() : std::span(now).subspan(u * PairsPerGroup(), PairsPerGroup());
        if (s_.unroll == 1) {
          RunGroup(stage, base, operands);
          continue;
        }
        const Value group = b_.Let("group", stage * s_.unroll + u);
        b_.If(group < groups_, Uniform::kBlock,
              [&] { RunGroup(group, base + u * (stage_bytes_ / s_.unroll), operands); });
      }
      b_.Set(slot, b_.Select(slot.value() == s_.stages - 1, b_.U32(0), slot.value() + 1));
    });
    Finish(panel);
  }

  // The slot that was read last is free now: starts what comes `stages - 1` stages later, perhaps in the next panel.
  void IssueAhead(Value stage, Reg slot, Value panel_index, Value panel_at, Value next_at, bool last) {
    const Value ahead = b_.Let("ahead", stage + (s_.stages - 1));
    const Value free_slot = b_.Let("free_slot", b_.Select(slot.value() == 0, b_.U32(s_.stages - 1), slot.value() - 1));
    if (last)
      return IssueStage(panel_at, ahead, free_slot, b_.Pred(true));  // groups beyond the panel are refused there
    const Value wraps = b_.Let("wraps", stages_per_panel_ <= ahead);
    const Value next_stage = b_.Let("next_stage", b_.Select(wraps, ahead - stages_per_panel_, ahead));
    const Value more = b_.Let("more", ~wraps | (panel_index + 1 < b_.U32(s_.rows_per_warp)));
    IssueStage(b_.Let("ahead_at", b_.Select(wraps, next_at, panel_at)), next_stage, free_slot, more);
  }

  bool ReadsAhead() const { return chains_ <= 2; }
  uint32_t PairsPerGroup() const { return std::max(1u, chains_ / 2); }

  void LoadStage(const std::vector<PairOperand>& operands, Value stage) {
    for (uint32_t u = 0; u < s_.unroll; ++u) {
      const Value group = b_.Let("x_group", stage * s_.unroll + u);
      const Value exists = b_.Let("x_exists", PairExists(group, 0, group < groups_));
      for (uint32_t i = 0; i < PairsPerGroup(); ++i) x_->Load(operands[u * PairsPerGroup() + i], group, i, exists);
    }
  }
  // Pair i of this warp in a group that exists if `group_exists`: in the last group pairs may be missing.
  Value PairExists(Value group, uint32_t i, Value group_exists) {
    if (!ragged_) return group_exists;
    // The second condition follows from the first; the verifier needs it to bound the address.
    const Value first_pair = chains_ == 1 ? part_ >> 1 : part_ * (chains_ / 2);
    return (group * 8 + part_ * chains_ + 2 * i < blocks_) & (group * 4 + first_pair + i < pairs_);
  }

  void RunGroup(Value group, Value base, std::span<const PairOperand> operands) {
    const auto run = [&](bool guarded) {
      for (uint32_t i = 0; i < PairsPerGroup(); ++i)
        RunPair(group, base, i, guarded, operands.empty() ? nullptr : &operands[i]);
    };
    if (!ragged_) return run(false);
    b_.If(
        group * 8 + 8 <= blocks_, Uniform::kBlock, [&] { run(false); }, [&] { run(true); });
  }

  void RunPair(Value group, Value base, uint32_t i, bool guarded, const PairOperand* loaded) {
    PairOperand operand;
    if (loaded == nullptr) {
      operand = x_->Declare("x" + std::to_string(i));
      x_->Load(operand, group, i, guarded ? PairExists(group, i, {}) : Value{});
      loaded = &operand;
    }
    for (uint32_t k = 0; k < loaded->blocks; ++k) {
      const uint32_t chain = loaded->blocks * i + k;
      if (guarded) {
        b_.If(group * 8 + part_ * chains_ + chain < blocks_, s_.split == 1 ? Uniform::kBlock : Uniform::kWarp,
              [&] { RunBlock(base, chain, *loaded, k); });
      } else {
        RunBlock(base, chain, *loaded, k);
      }
    }
  }

  // Block k of a pair, of this warp's chain c.
  void RunBlock(Value base, uint32_t c, const PairOperand& x, uint32_t k) {
    const Value block =
        base + (static_cast<uint32_t>(layout_.head_bytes) + c * static_cast<uint32_t>(layout_.block_bytes));
    const CodeOperand a = ReadCodes(b_, reader_, ring_, block);
    const RowPair scale = ReadScale(b_, reader_, ring_, block, base);
    const SmallScales small = ReadSmallScales(b_, reader_, ring_, block);
    const std::array<Value, 4> sums = Products(a, x.Words(b_, k), small.sub_scales);
    RowPair scales = {b_.Let("d0", scale[0]), b_.Let("d1", scale[1])};
    for (uint32_t i = 0; i < 4; ++i) {
      const Reg acc = acc_[c * 4 + i];
      b_.Set(acc, b_.Fma(sums[i], scales[i / 2] * x.Scale(b_, k, i % 2), acc));
    }
    if (!form_.has_min) return;
    const RowPair min_scale = ReadMinScale(b_, reader_, ring_, block, base);
    const std::vector<RowPair>& mins = small.mins;
    const RowPair m = {b_.Let("m0", min_scale[0]), b_.Let("m1", min_scale[1])};
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = i / 2, col = i % 2;
      Value sum;
      if (mins.empty()) {
        sum = x.Sum(b_, k, 0, col) + x.Sum(b_, k, 1, col);
      } else if (mins.size() == 1) {
        sum = mins[0][row] * (x.Sum(b_, k, 0, col) + x.Sum(b_, k, 1, col));
      } else {
        sum = mins[0][row] * x.Sum(b_, k, 0, col) + mins[1][row] * x.Sum(b_, k, 1, col);
      }
      const Reg acc = acc_[c * 4 + i];
      b_.Set(acc, b_.Fma(ToFloat(sum), m[row] * x.Scale(b_, k, col), acc));
    }
  }

  // An i32 below 2^22 in magnitude as f32: an addition and a subtraction, where a conversion has a quarter of their
  // rate.
  Value ToFloat(Value sum) { return b_.Bitcast(kF32, sum + b_.I32(kMagicBits)) - b_.F32(kMagic); }

  // The integer sums of one block with its sub-scales, as floats: exact, all below 2^24.
  std::array<Value, 4> Products(const CodeOperand& a, const std::array<Value, 2>& x, const std::vector<RowPair>& sub) {
    std::array<Value, 4> out;
    if (sub.size() == 2) {
      // A scale for each half: two products of k = 16.
      const MmaKind kind = a.is_signed ? MmaKind::kS8S8K16 : MmaKind::kU8S8K16;
      const Value zero = b_.Vector({b_.I32(0), b_.I32(0), b_.I32(0), b_.I32(0)});
      std::array<Reg, 2> c;
      for (uint32_t h = 0; h < 2; ++h) {
        c[h] = b_.Declare("c", kI32x4);
        b_.Mma(kind, c[h], b_.Vector({a.words[2 * h], a.words[2 * h + 1]}), x[h], zero);
      }
      const uint32_t shift = CodeShift(format_);
      for (uint32_t i = 0; i < 4; ++i) {
        const Value sum = sub[0][i / 2] * b_.Extract(c[0], i) + sub[1][i / 2] * b_.Extract(c[1], i);
        out[i] = b_.Cast(kF32, shift == 0 ? sum : sum >> shift);
      }
      return out;
    }
    const MmaKind kind = a.is_signed ? MmaKind::kS8S8K32 : MmaKind::kU8S8K32;
    // With a sub-scale the conversion comes after it.
    const Value start = b_.I32(sub.empty() ? kMagicBits : 0);
    const Reg c = b_.Declare("c", kI32x4);
    b_.Mma(kind, c, b_.Vector({a.words[0], a.words[1], a.words[2], a.words[3]}), b_.Vector({x[0], x[1]}),
           b_.Vector({start, start, start, start}));
    for (uint32_t i = 0; i < 4; ++i) {
      const Value sum = sub.empty() ? b_.Extract(c, i) : b_.Extract(c, i) * sub[0][i / 2] + b_.I32(kMagicBits);
      out[i] = b_.Bitcast(kF32, sum) - b_.F32(kMagic);
    }
    return out;
  }

  // Combines the chains 4, 2, 1 and stores.
  void Finish(Value panel) {
    const auto combine = [](const auto& chain) {
      return ((chain(0) + chain(4)) + (chain(2) + chain(6))) + ((chain(1) + chain(5)) + (chain(3) + chain(7)));
    };
    // Sub-scaled halves were shifted back block by block.
    const uint32_t shift = form_.sub_scales == 2 ? 0 : CodeShift(format_);
    const auto store = [&](const std::array<Value, 4>& sums) {
      for (uint32_t i = 0; i < 4; ++i) {
        const Value n = b_.Let("row_n", panel * kRp16Rows + reader_.g + 8 * (i / 2));
        const Value r = b_.Let("row_r", row_tile_ * kTileRows + reader_.t * 2 + i % 2);
        const Value y = shift == 0 ? sums[i] : sums[i] * b_.F32(std::ldexp(1.0f, -static_cast<int>(shift)));
        b_.Store(y_, (b_.Wide(r) * b_.Wide(n_) + b_.Wide(n)) * 4, y, (n < n_) & (r < rows_));
      }
    };
    if (s_.split == 1) {
      std::array<Value, 4> sums;
      for (uint32_t i = 0; i < 4; ++i) sums[i] = combine([&](uint32_t c) { return acc_[c * 4 + i].value(); });
      return store(sums);
    }
    // sums: [warps / split][8 chains][32 lanes][4]
    for (uint32_t c = 0; c < chains_; ++c) {
      b_.StoreShared(sums_, b_.Warp() * (chains_ * 512) + (c * 512) + b_.Lane() * 16,
                     b_.Vector({acc_[c * 4], acc_[c * 4 + 1], acc_[c * 4 + 2], acc_[c * 4 + 3]}));
    }
    b_.Barrier();
    b_.If(part_ == 0, Uniform::kWarp, [&] {
      std::vector<Value> chain;
      for (uint32_t c = 0; c < 8; ++c)
        chain.push_back(
            b_.LoadShared("chain", kF32x4, sums_, b_.Warp() * (chains_ * 512) + (c * 512) + b_.Lane() * 16));
      std::array<Value, 4> sums;
      for (uint32_t i = 0; i < 4; ++i) sums[i] = combine([&](uint32_t c) { return b_.Extract(chain[c], i); });
      store(sums);
    });
    if (s_.rows_per_warp > 1) b_.Barrier();
  }

  const DType format_;
  const CodeForm form_;
  const Rp16Format layout_;
  const Schedule s_;
  const uint32_t chains_;  // of one warp
  const uint32_t group_bytes_;
  uint32_t stage_bytes_ = 0;
  bool ragged_ = false;  // K may be no multiple of 256
  Builder b_;
  uint32_t w_ = 0, q_ = 0, d_ = 0, isum_ = 0, y_ = 0, ring_ = 0, sums_ = 0;
  Value rows_, n_, blocks_, panels_, panel_bytes_, groups_, pairs_, stages_per_panel_, row_tiles_;
  Value row_tile_, part_, first_, ring_base_, lane_at_;
  Rp16Reader reader_{};
  std::optional<Qa8Reader> x_;
  std::vector<Reg> acc_;  // [chain][4]
};

}  // namespace

Result<Kernel> MatmulMmaI8(const Descriptor& d, const Schedule& s) {
  const bool fits_descriptor = d.family == Family::kMatmul && d.weights.size() == 1 &&
                               d.weights[0].layout == Layout::kRp16 && InfoOf(d.weights[0].format).is_quantized &&
                               d.in == Encoding::kQa8 && d.out == Encoding::kF32 &&
                               d.numerics == NumericsClass::kDotI8 && d.dim("R") && d.dim("N") && d.dim("K");
  if (!fits_descriptor) return Fail(Code::kUnsupported, "int8 mma.sync products do not serve {}", CanonicalText(d));
  const bool fits_schedule = s.mma == Mma::kM16N8K32 &&
                             (s.split == 1 || s.split == 2 || s.split == 4 || s.split == 8) && s.warps % s.split == 0 &&
                             s.stages >= 2 && s.unroll >= 1 && s.rows_per_warp >= 1;
  if (!fits_schedule) return Fail(Code::kUnsupported, "int8 mma.sync products have no schedule {}", CanonicalText(s));
  const Dim& k = *d.dim("K");
  const uint32_t super = Rp16FormatOf(d.weights[0].format).head_bytes != 0 ? 256 : 32;
  if (k.multiple_of % super != 0)
    return Fail(Code::kUnsupported, "{} needs K in multiples of {}; the descriptor allows {}",
                quern::NameOf(d.weights[0].format), super, k.multiple_of);
  return Named(Generator(d, s).Run(), d, s);
}

}  // namespace quern::kernels::ir::gen
