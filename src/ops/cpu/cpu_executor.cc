#include "ops/cpu/cpu_executor.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "ops/cpu/attention.h"
#include "tensor/codec.h"

namespace quern::ops::cpu {

using device::cpu::HostBuffer;

CpuExecutor::CpuExecutor(std::shared_ptr<const Program> program, device::cpu::CpuDevice& device,
                         const ExecutorOptions& options)
    : program_(std::move(program)),
      device_(device),
      options_(options),
      kernels_(FindElementwise(device.isa())),
      plan_(PlanArena(*program_, options.max_rows, options.max_kept)),
      rope_angles_(program_->ropes.size()) {}

Status CpuExecutor::Prepare() {
  prepared_.resize(program_->weights.size());
  int64_t total = 0, done = 0;
  for (const WeightSpec& spec : program_->weights) total += spec.view.num_bytes();
  for (size_t i = 0; i < prepared_.size(); ++i) {
    if (auto status = PrepareWeight(i, &done, total); !status) {
      return WithFrame(status.error(), fmt::format("preparing {}", program_->weights[i].name));
    }
  }
  return AllocateScratch();
}

Status CpuExecutor::PrepareWeight(size_t index, int64_t* done, int64_t total) {
  const WeightSpec& spec = program_->weights[index];
  PreparedWeight& prepared = prepared_[index];
  const int64_t num_blocks = spec.view.shape.num_elems() / InfoOf(spec.view.dtype).block_elems;
  QUERN_TRY(ValidateBlocks(spec.view.dtype, spec.view.data, num_blocks));
  if (spec.use == WeightUse::kVector) {
    prepared.vector.resize(spec.view.shape.num_elems());
    DecodeRow(spec.view.dtype, spec.view.data, prepared.vector);
    for (float& value : prepared.vector) value += spec.vector_offset;
    weight_bytes_ += static_cast<int64_t>(prepared.vector.size() * sizeof(float));
  } else if (spec.use != WeightUse::kTable) {
    if (spec.view.shape.rank() == 3 && spec.view.shape[1] % kPanelRows != 0) {
      return Fail(Code::kUnsupported, "experts of {} outputs; the CPU products need a multiple of {}",
                  spec.view.shape[1], kPanelRows);
    }
    QUERN_ASSIGN_OR_RETURN(prepared.matrix, PackMatrix(spec.view, device_.team()));
    prepared.kernel = &FindMatmul(spec.view.dtype, device_.isa(), options_.numerics);
    prepared.reason = options_.numerics == Numerics::kExact ? "numerics exact"
                      : prepared.kernel->int8               ? "default"
                                                            : "plain floats keep f32 activations";
    weight_bytes_ += static_cast<int64_t>(prepared.matrix->data.size_bytes());
  }
  *done += spec.view.num_bytes();
  if (options_.progress && !options_.progress(*done, total)) return Fail(Code::kCancelled, "loading was cancelled");
  return {};
}

Status CpuExecutor::AllocateScratch() {
  const int64_t rows = std::max(options_.max_rows, options_.max_kept);
  int64_t widest_input = 0, widest_gated = 0, expert_rows = 0, expert_input = 0;
  int64_t moe_hidden = 0, moe_width = 0, num_experts = 0;
  for (const Op& op : program_->ops) {
    if (const auto* project = std::get_if<ProjectOp>(&op)) widest_input = std::max(widest_input, Width(project->in));
    if (const auto* gated = std::get_if<GatedProjectOp>(&op)) {
      widest_input = std::max(widest_input, Width(gated->in));
      widest_gated = std::max(widest_gated, Width(gated->out));
    }
    if (const auto* moe = std::get_if<MoeOp>(&op)) {
      const int64_t f = program_->weights[moe->down.id].view.shape.back();
      widest_input = std::max(widest_input, Width(moe->in));
      expert_rows = std::max(expert_rows, rows * moe->top_k);
      expert_input = std::max({expert_input, Width(moe->in), f});
      moe_hidden = std::max(moe_hidden, f);
      moe_width = std::max(moe_width, Width(moe->in));
      num_experts = std::max(num_experts, program_->weights[moe->router.id].view.shape[0]);
    }
  }
  const auto allocate = [&](HostBuffer* buffer, int64_t num_bytes) -> Status {
    if (num_bytes == 0) return {};
    QUERN_ASSIGN_OR_RETURN(*buffer, HostBuffer::Allocate(static_cast<size_t>(num_bytes)));
    scratch_bytes_ += num_bytes;
    return {};
  };
  const auto allocate_activations = [&](ActivationBuffer* buffer, int64_t num_rows, int64_t cols) -> Status {
    const int64_t blocks = (cols + kBlockElems - 1) / kBlockElems;
    QUERN_TRY(allocate(&buffer->f32, num_rows * blocks * kBlockElems * 4));
    QUERN_TRY(allocate(&buffer->q, num_rows * blocks * kBlockElems));
    QUERN_TRY(allocate(&buffer->d, num_rows * blocks * 4));
    return allocate(&buffer->isum, num_rows * blocks * 4);
  };
  QUERN_TRY(allocate(&arena_, plan_.size_floats * 4));
  QUERN_TRY(allocate_activations(&activations_, rows, widest_input));
  QUERN_TRY(allocate(&up_, rows * widest_gated * 4));
  if (expert_rows > 0) {
    QUERN_TRY(allocate_activations(&expert_activations_, expert_rows, expert_input));
    QUERN_TRY(allocate(&moe_logits_, rows * std::max(num_experts, moe_width) * 4));
    QUERN_TRY(allocate(&moe_gathered_, expert_rows * moe_width * 4));
    QUERN_TRY(allocate(&moe_hidden_, expert_rows * 2 * moe_hidden * 4));
    QUERN_TRY(allocate(&moe_out_, expert_rows * moe_width * 4));
  }
  thread_scratch_.resize(static_cast<size_t>(device_.num_threads()));
  return {};
}

Status CpuExecutor::Run(const StepInputs& inputs) {
  num_rows_ = static_cast<int64_t>(inputs.ids.size());
  num_kept_ = static_cast<int64_t>(inputs.kept.size());
  QUERN_CHECK(num_rows_ > 0 && num_rows_ <= options_.max_rows && num_kept_ <= options_.max_kept);
  QUERN_CHECK(static_cast<int64_t>(inputs.positions.size()) == num_rows_);
  QUERN_CHECK(static_cast<int64_t>(inputs.sequence_of.size()) == num_rows_);
  inputs_ = &inputs;
  kept_positions_.clear();
  kept_sequence_of_.clear();
  for (const int32_t row : inputs.kept) {
    kept_positions_.push_back(inputs.positions[row]);
    kept_sequence_of_.push_back(inputs.sequence_of[row]);
  }
  FillRopeAngles(inputs);
  for (const Op& op : program_->ops) {
    std::visit([this](const auto& o) { Do(o); }, op);
  }
  inputs_ = nullptr;
  return {};
}

// Angles are formed in f64 and rounded once: an f32 product loses digits from positions of some 1e5 on.
void CpuExecutor::FillRopeAngles(const StepInputs& inputs) {
  for (size_t r = 0; r < program_->ropes.size(); ++r) {
    const std::vector<float>& inv_freq = program_->ropes[r].inv_freq;
    const int64_t pairs = static_cast<int64_t>(inv_freq.size());
    RopeAngles& angles = rope_angles_[r];
    angles.cos_all.resize(num_rows_ * pairs);
    angles.sin_all.resize(num_rows_ * pairs);
    device_.team().For(num_rows_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t i = 0; i < pairs; ++i) {
          const double angle = static_cast<double>(inputs.positions[row]) * static_cast<double>(inv_freq[i]);
          angles.cos_all[row * pairs + i] = static_cast<float>(std::cos(angle));
          angles.sin_all[row * pairs + i] = static_cast<float>(std::sin(angle));
        }
      }
    });
    angles.cos_kept.resize(num_kept_ * pairs);
    angles.sin_kept.resize(num_kept_ * pairs);
    for (int64_t k = 0; k < num_kept_; ++k) {
      std::copy_n(&angles.cos_all[inputs.kept[k] * pairs], pairs, &angles.cos_kept[k * pairs]);
      std::copy_n(&angles.sin_all[inputs.kept[k] * pairs], pairs, &angles.sin_kept[k * pairs]);
    }
  }
}

std::span<const float> CpuExecutor::Read(Value value) const {
  QUERN_CHECK(program_->values[value.id].is_output);
  const float* data = reinterpret_cast<const float*>(arena_.data()) + plan_.offset_floats[value.id];
  return {data, static_cast<size_t>(NumRows(value) * Width(value))};
}

std::vector<RouteRow> CpuExecutor::Routes() const {
  std::vector<RouteRow> rows;
  for (size_t i = 0; i < prepared_.size(); ++i) {
    if (prepared_[i].kernel == nullptr) continue;
    rows.push_back({program_->weights[i].name, std::string(NameOf(program_->weights[i].view.dtype)),
                    std::string(prepared_[i].kernel->name), prepared_[i].kernel->int8 ? "dot-i8" : "dot-f",
                    prepared_[i].reason});
  }
  return rows;
}

}  // namespace quern::ops::cpu

namespace quern::ops {

Result<std::unique_ptr<Executor>> MakeCpuExecutor(std::shared_ptr<const Program> program,
                                                  device::cpu::CpuDevice& device, const ExecutorOptions& options) {
  auto executor = std::make_unique<cpu::CpuExecutor>(std::move(program), device, options);
  QUERN_TRY(executor->Prepare());
  return std::unique_ptr<Executor>(std::move(executor));
}

}  // namespace quern::ops
