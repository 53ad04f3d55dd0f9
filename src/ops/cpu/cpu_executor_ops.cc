// The operations of a program other than the mixture of experts, one short function each.
#include <algorithm>
#include <cstring>

#include "ops/cpu/attention.h"
#include "ops/cpu/cpu_executor.h"
#include "tensor/codec.h"

namespace quern::ops::cpu {
namespace {

// Rows of elementwise work per thread below which a parallel region costs more than it saves.
constexpr int64_t kRowGrain = 4;
// Panels of a product per unit of work: 8 panels are 64 outputs.
constexpr int64_t kPanelGrain = 1;

}  // namespace

void CpuExecutor::Do(const EmbedOp& op) {
  const TensorView& table = program_->weights[op.table.id].view;
  float* out = Data(op.out);
  const int64_t width = Width(op.out);
  device_.team().For(num_rows_, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* y = out + row * width;
      DecodeRow(table.dtype, table.row(inputs_->ids[row]), {y, static_cast<size_t>(width)});
      for (int64_t i = 0; i < width; ++i) y[i] *= op.scale;
    }
  });
}

void CpuExecutor::Do(const KeepRowsOp& op) {
  const int64_t width = Width(op.out), in_width = Width(op.in);
  const float* in = Data(op.in);
  float* out = Data(op.out);
  for (int64_t k = 0; k < num_kept_; ++k) {
    std::memcpy(out + k * width, in + inputs_->kept[k] * in_width + op.begin, width * sizeof(float));
  }
}

void CpuExecutor::Do(const RmsNormOp& op) {
  const int64_t groups = NumRows(op.in) * (Width(op.in) / op.group_width);
  const float *in = Data(op.in), *weight = VectorOf(op.weight);
  float* out = Data(op.out);
  device_.team().For(groups, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      kernels_.rms_norm(in + g * op.group_width, weight, out + g * op.group_width, op.group_width, op.eps);
    }
  });
}

void CpuExecutor::Do(const NormAddOp& op) {
  const int64_t width = Width(op.in);
  const float *in = Data(op.in), *weight = VectorOf(op.weight);
  const float scale = op.scale.valid() ? *VectorOf(op.scale) : 1.0f;
  float* residual = Data(op.residual);
  device_.team().For(NumRows(op.in), kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      kernels_.norm_add(in + row * width, weight, residual + row * width, width, op.eps, scale);
    }
  });
}

Activations CpuExecutor::PrepareActivations(const float* x, int64_t ldx, int64_t rows, int64_t cols, bool want_int8,
                                            bool want_f32, ActivationBuffer* buffer) {
  Activations result;
  result.num_rows = rows;
  result.num_blocks = (cols + kBlockElems - 1) / kBlockElems;
  const int64_t blocks = result.num_blocks;
  float *f32 = buffer->f32.as<float>().data(), *d = buffer->d.as<float>().data();
  int8_t* q = buffer->q.as<int8_t>().data();
  int16_t* isum = buffer->isum.as<int16_t>().data();
  device_.team().For(rows, kRowGrain, [&](int64_t begin, int64_t end) {
    const float* in = x + begin * ldx;
    if (want_f32) PrepareF32(device_.isa(), in, ldx, end - begin, cols, f32 + begin * blocks * kBlockElems);
    if (want_int8) {
      PrepareQa8(device_.isa(), in, ldx, end - begin, cols, q + begin * blocks * kBlockElems, d + begin * blocks,
                 isum + begin * blocks * 2);
    }
  });
  if (want_f32) result.f32 = f32;
  if (want_int8) {
    result.q = q;
    result.d = d;
    result.isum = isum;
  }
  return result;
}

void CpuExecutor::RunProducts(std::span<const Product> products) {
  int64_t total = 0;
  for (const Product& product : products) total += product.num_panels;
  device_.team().For(total, kPanelGrain, [&](int64_t begin, int64_t end) {
    int64_t base = 0;
    for (const Product& product : products) {
      const int64_t from = std::max(begin - base, int64_t{0}), to = std::min(end - base, product.num_panels);
      if (from < to) {
        product.weight->kernel->run(*product.weight->matrix, product.x, product.first_panel + from,
                                    product.first_panel + to, product.y, product.ldy);
      }
      base += product.num_panels;
    }
  });
}

void CpuExecutor::Do(const ProjectOp& op) {
  const int64_t rows = NumRows(op.in), cols = Width(op.in);
  if (rows == 0) return;
  bool want_int8 = false, want_f32 = false;
  for (const ProjectOp::Output& output : op.outputs) {
    (Matrix(output.weight).kernel->int8 ? want_int8 : want_f32) = true;
  }
  const Activations x = PrepareActivations(Data(op.in), cols, rows, cols, want_int8, want_f32, &activations_);
  std::vector<Product> products;
  for (const ProjectOp::Output& output : op.outputs) {
    const int64_t width = Width(output.out);
    products.push_back({&Matrix(output.weight), x, 0, (width + kPanelRows - 1) / kPanelRows, Data(output.out), width});
  }
  RunProducts(products);
  if (op.scale == 1.0f) return;
  for (const ProjectOp::Output& output : op.outputs) {
    float* y = Data(output.out);
    device_.team().For(rows * Width(output.out), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] *= op.scale;
    });
  }
}

void CpuExecutor::Do(const GatedProjectOp& op) {
  const int64_t rows = NumRows(op.in), cols = Width(op.in), width = Width(op.out);
  if (rows == 0) return;
  const PreparedWeight &gate = Matrix(op.gate), &up = Matrix(op.up);
  const Activations x = PrepareActivations(Data(op.in), cols, rows, cols, gate.kernel->int8 || up.kernel->int8,
                                           !gate.kernel->int8 || !up.kernel->int8, &activations_);
  float *out = Data(op.out), *up_out = up_.as<float>().data();
  device_.team().For((width + kPanelRows - 1) / kPanelRows, kPanelGrain, [&](int64_t begin, int64_t end) {
    gate.kernel->run(*gate.matrix, x, begin, end, out, width);
    up.kernel->run(*up.matrix, x, begin, end, up_out, width);
    const int64_t first = begin * kPanelRows, count = std::min(end * kPanelRows, width) - first;
    for (int64_t row = 0; row < rows; ++row) {
      float* g = out + row * width + first;
      kernels_.gelu_mul(g, up_out + row * width + first, g, count);
    }
  });
}

void CpuExecutor::Do(const HeadNormRopeOp& op) {
  const int64_t rows = NumRows(op.value), width = Width(op.value);
  const bool is_kept = program_->values[op.value.id].rows == RowGroup::kKept;
  const float* weight = VectorOf(op.norm);
  const int64_t pairs = op.rope < 0 ? 0 : static_cast<int64_t>(program_->ropes[op.rope].inv_freq.size());
  const float *cos = nullptr, *sin = nullptr;
  if (op.rope >= 0) {
    const RopeAngles& angles = rope_angles_[op.rope];
    cos = is_kept ? angles.cos_kept.data() : angles.cos_all.data();
    sin = is_kept ? angles.sin_kept.data() : angles.sin_all.data();
  }
  float* data = Data(op.value);
  device_.team().For(rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int head = 0; head < op.num_heads; ++head) {
        float* x = data + row * width + int64_t{head} * op.head_dim;
        if (op.normalize) kernels_.rms_norm(x, weight, x, op.head_dim, op.eps);
        if (pairs > 0) kernels_.rope(x, cos + row * pairs, sin + row * pairs, pairs, op.head_dim / 2);
      }
    }
  });
}

void CpuExecutor::Do(const KvWriteOp& op) {
  const KvGroupSpec& group = program_->kv.groups[op.slot.group];
  const KvPoolView& pool = inputs_->pools[op.slot.group];
  const int64_t width = Width(op.k);
  const float *k = Data(op.k), *v = Data(op.v);
  device_.team().For(num_rows_, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::span<const int32_t> pages = inputs_->sequences[inputs_->sequence_of[row]].tables[op.slot.group].pages;
      const int64_t position = inputs_->positions[row];
      const int32_t page = pages[(position / kPageTokens) % static_cast<int64_t>(pages.size())];
      StoreKvRow(pool, group, op.slot, page, static_cast<int>(position % kPageTokens), k + row * width,
                 v + row * width);
    }
  });
}

void CpuExecutor::Do(const AttentionOp& op) {
  const int64_t rows = NumRows(op.q);
  if (rows == 0) return;
  const bool is_kept = program_->values[op.q.id].rows == RowGroup::kKept;
  const KvGroupSpec& group = program_->kv.groups[op.slot.group];
  AttentionArgs args;
  args.q = Data(op.q);
  args.out = Data(op.out);
  args.positions = is_kept ? std::span<const int32_t>(kept_positions_) : inputs_->positions;
  args.sequence_of = is_kept ? std::span<const int32_t>(kept_sequence_of_) : inputs_->sequence_of;
  args.sequences = inputs_->sequences;
  args.pool = inputs_->pools[op.slot.group];
  args.group = group;
  args.slot = op.slot;
  args.num_heads = op.num_heads;
  args.scale = op.scale;
  const int64_t scratch_floats = AttentionScratchFloats(args);
  const int64_t items = NumAttentionItems(args);
  ThreadTeam& team = device_.team();
  team.Run([&](int member) {
    const int64_t begin = items * member / team.size(), end = items * (member + 1) / team.size();
    if (begin == end) return;
    std::vector<float>& scratch = thread_scratch_[member];
    if (static_cast<int64_t>(scratch.size()) < scratch_floats) scratch.resize(scratch_floats);
    RunAttention(device_.isa(), args, begin, end, scratch.data());
  });
}

void CpuExecutor::Do(const GeluMulOp& op) {
  const int64_t width = Width(op.in), other_width = Width(op.other);
  const float *in = Data(op.in), *other = Data(op.other) + op.begin;
  float* out = Data(op.out);
  device_.team().For(NumRows(op.in), kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      kernels_.gelu_mul(in + row * width, other + row * other_width, out + row * width, width);
    }
  });
}

void CpuExecutor::Do(const AddOp& op) {
  const int64_t width = Width(op.a);
  const float *a = Data(op.a), *b = Data(op.b);
  float* out = Data(op.out);
  device_.team().For(NumRows(op.a), kRowGrain, [&](int64_t begin, int64_t end) {
    kernels_.add(a + begin * width, b + begin * width, out + begin * width, (end - begin) * width, op.scale);
  });
}

void CpuExecutor::Do(const SoftcapOp& op) {
  float* data = Data(op.value);
  device_.team().For(NumRows(op.value) * Width(op.value), 4096,
                     [&](int64_t begin, int64_t end) { kernels_.softcap(data + begin, end - begin, op.cap); });
}

void CpuExecutor::Do(const CopyOp& op) {
  std::memcpy(Data(op.out), Data(op.in), NumRows(op.in) * Width(op.in) * sizeof(float));
}

}  // namespace quern::ops::cpu
