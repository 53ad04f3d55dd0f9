// Mixture of experts on the CPU: route every row, sort the (row, expert) assignments by expert, run each expert's
// products on all its rows at once, then add the results up per row in the order of rank, so that a row's sum does not
// depend on which other rows share the step.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/cpu/cpu_executor.h"

namespace quern::ops::cpu {

void CpuExecutor::RouteTokens(const MoeOp& op, int64_t rows) {
  const int64_t d = Width(op.residual);
  const int64_t experts = program_->weights[op.router.id].view.shape[0];
  const float* residual = Data(op.residual);
  const float *scale = VectorOf(op.router_scale), *per_expert = VectorOf(op.per_expert_scale);
  const float root = 1.0f / std::sqrt(static_cast<float>(d));

  // moe_out_ is free until the experts run: it holds the router's input.
  float *z = moe_out_.as<float>().data(), *logits = moe_logits_.as<float>().data();
  device_.team().For(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      kernels_.rms_norm(residual + row * d, scale, z + row * d, d, op.eps);
      for (int64_t i = 0; i < d; ++i) z[row * d + i] *= root;
    }
  });
  const PreparedWeight& router = Matrix(op.router);
  const Activations x = PrepareActivations(z, d, rows, d, router.kernel->int8, !router.kernel->int8, &activations_);
  const Product product{&router, x, 0, (experts + kPanelRows - 1) / kPanelRows, logits, experts};
  RunProducts({&product, 1});

  expert_ids_.resize(rows * op.top_k);
  expert_weights_.resize(rows * op.top_k);
  device_.team().For(rows, 4, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> order(experts);
    for (int64_t row = begin; row < end; ++row) {
      float* p = logits + row * experts;
      kernels_.softmax(p, experts);
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + op.top_k, order.end(),
                        [&](int32_t a, int32_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
      float sum = 0;
      for (int j = 0; j < op.top_k; ++j) sum += p[order[j]];
      for (int j = 0; j < op.top_k; ++j) {
        expert_ids_[row * op.top_k + j] = order[j];
        expert_weights_[row * op.top_k + j] = p[order[j]] / sum * per_expert[order[j]];
      }
    }
  });

  assignment_row_.resize(rows * op.top_k);
  std::iota(assignment_row_.begin(), assignment_row_.end(), 0);
  std::ranges::stable_sort(assignment_row_, {}, [&](int32_t assignment) { return expert_ids_[assignment]; });
  expert_groups_.clear();
  for (int64_t i = 0; i < static_cast<int64_t>(assignment_row_.size()); ++i) {
    const int expert = expert_ids_[assignment_row_[i]];
    if (expert_groups_.empty() || expert_groups_.back().expert != expert) expert_groups_.push_back({expert, i, i});
    expert_groups_.back().end = i + 1;
  }
}

void CpuExecutor::Do(const MoeOp& op) {
  const int64_t rows = NumRows(op.in), d = Width(op.in);
  if (rows == 0) return;
  RouteTokens(op, rows);

  const int64_t f = program_->weights[op.down.id].view.shape.back();
  const int64_t assignments = rows * op.top_k;
  ThreadTeam& team = device_.team();

  // Each assignment's input row, grouped by expert, prepared once.
  const float* in = Data(op.in);
  float* gathered = moe_gathered_.as<float>().data();
  team.For(assignments, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) std::copy_n(in + assignment_row_[i] / op.top_k * d, d, gathered + i * d);
  });
  const PreparedWeight& first = Matrix(op.gate_up.valid() ? op.gate_up : op.gate);
  const PreparedWeight& down = Matrix(op.down);
  const auto slice = [](const Activations& x, int64_t begin, int64_t end) {
    Activations part = x;
    part.num_rows = end - begin;
    if (x.f32) part.f32 = x.f32 + begin * x.num_blocks * kBlockElems;
    if (x.q) part.q = x.q + begin * x.num_blocks * kBlockElems;
    if (x.d) part.d = x.d + begin * x.num_blocks;
    if (x.isum) part.isum = x.isum + begin * x.num_blocks * 2;
    return part;
  };
  // A weight of expert e has its rows at e * num_outputs; the product writes row n to column n, hence the shift of y.
  const auto add = [&](std::vector<Product>* products, const PreparedWeight& weight, const Activations& x,
                       const ExpertGroup& group, int64_t num_outputs, float* y, int64_t ldy) {
    const int64_t panels = num_outputs / kPanelRows;
    products->push_back({&weight, slice(x, group.begin, group.end), group.expert * panels, panels,
                         y + group.begin * ldy - group.expert * num_outputs, ldy});
  };

  float* hidden = moe_hidden_.as<float>().data();  // [assignments, 2F]: gate, then up
  const bool int8 = first.kernel->int8 || (op.up.valid() && Matrix(op.up).kernel->int8);
  const bool f32 = !first.kernel->int8 || (op.up.valid() && !Matrix(op.up).kernel->int8);
  Activations x = PrepareActivations(gathered, d, assignments, d, int8, f32, &expert_activations_);
  std::vector<Product> products;
  for (const ExpertGroup& group : expert_groups_) {
    if (op.gate_up.valid()) {
      add(&products, first, x, group, 2 * f, hidden, 2 * f);
    } else {
      add(&products, first, x, group, f, hidden, 2 * f);
      add(&products, Matrix(op.up), x, group, f, hidden + f, 2 * f);
    }
  }
  RunProducts(products);
  team.For(assignments, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* g = hidden + i * 2 * f;
      kernels_.gelu_mul(g, g + f, g, f);
    }
  });

  float* expert_out = moe_out_.as<float>().data();  // [assignments, D]
  x = PrepareActivations(hidden, 2 * f, assignments, f, down.kernel->int8, !down.kernel->int8, &expert_activations_);
  products.clear();
  for (const ExpertGroup& group : expert_groups_) add(&products, down, x, group, d, expert_out, d);
  RunProducts(products);

  std::vector<int64_t> place(assignments);  // where assignment row * top_k + rank lies in the sorted order
  for (int64_t i = 0; i < assignments; ++i) place[assignment_row_[i]] = i;
  float* out = Data(op.out);
  team.For(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::fill_n(out + row * d, d, 0.0f);
      for (int j = 0; j < op.top_k; ++j) {
        const int64_t assignment = row * op.top_k + j;
        kernels_.axpy(expert_out + place[assignment] * d, expert_weights_[assignment], out + row * d, d);
      }
    }
  });
}

}  // namespace quern::ops::cpu
