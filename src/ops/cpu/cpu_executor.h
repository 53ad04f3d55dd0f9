// CpuExecutor: walks a program's list of operations on the CPU. The operations themselves are pure kernels
// (matmul.h, attention.h, elementwise.h); this class holds prepared weights and buffers and cuts the work over threads.
// Work is cut by output rows or columns only, never along a sum, so results do not depend on the number of threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/matmul.h"
#include "ops/cpu/packed_matrix.h"
#include "ops/program/arena_plan.h"
#include "ops/program/executor.h"

namespace quern::ops::cpu {

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(std::shared_ptr<const Program> program, device::cpu::CpuDevice& device, const ExecutorOptions& options);

  // Packs matrices, decodes vectors and takes the step's memory. Called once, before the first Run.
  Status Prepare();

  Status Run(const StepInputs& inputs) override;
  std::span<const float> Read(Value value) const override;
  std::vector<RouteRow> Routes() const override;
  int64_t weight_bytes() const override { return weight_bytes_; }
  int64_t scratch_bytes() const override { return scratch_bytes_; }

 private:
  struct PreparedWeight {
    std::vector<float> vector;           // kVector
    std::optional<PackedMatrix> matrix;  // kMatrix, kTableAndMatrix
    const MatmulKernel* kernel = nullptr;
    std::string reason;
  };

  // One product of a parallel region: panels [0, num_panels) of a weight, from panel `first_panel`.
  struct Product {
    const PreparedWeight* weight = nullptr;
    Activations x;
    int64_t first_panel = 0;
    int64_t num_panels = 0;
    float* y = nullptr;  // so that row n of the weight lands in column n: may point before a buffer's first column
    int64_t ldy = 0;
  };

  // Buffers that hold one product's prepared activations.
  struct ActivationBuffer {
    device::cpu::HostBuffer f32, q, d, isum;
  };

  Status PrepareWeight(size_t index, int64_t* done, int64_t total);
  Status AllocateScratch();
  void FillRopeAngles(const StepInputs& inputs);

  int64_t NumRows(RowGroup rows) const { return rows == RowGroup::kAll ? num_rows_ : num_kept_; }
  int64_t NumRows(Value value) const { return NumRows(program_->values[value.id].rows); }
  int64_t Width(Value value) const { return program_->values[value.id].width; }
  float* Data(Value value) { return arena_.as<float>().data() + plan_.offset_floats[value.id]; }
  const float* VectorOf(Weight weight) const { return weight.valid() ? prepared_[weight.id].vector.data() : nullptr; }
  const PreparedWeight& Matrix(Weight weight) const { return prepared_[weight.id]; }

  // Prepares x [rows, K] in the forms that the given kernels take.
  Activations PrepareActivations(const float* x, int64_t ldx, int64_t rows, int64_t cols, bool want_int8, bool want_f32,
                                 ActivationBuffer* buffer);
  void RunProducts(std::span<const Product> products);

  void Do(const EmbedOp& op);
  void Do(const KeepRowsOp& op);
  void Do(const RmsNormOp& op);
  void Do(const NormAddOp& op);
  void Do(const ProjectOp& op);
  void Do(const GatedProjectOp& op);
  void Do(const HeadNormRopeOp& op);
  void Do(const KvWriteOp& op);
  void Do(const AttentionOp& op);
  void Do(const GeluMulOp& op);
  void Do(const AddOp& op);
  void Do(const MoeOp& op);
  void Do(const SoftcapOp& op);
  void Do(const CopyOp& op);

  // moe.cc
  void RouteTokens(const MoeOp& op, int64_t rows);

  std::shared_ptr<const Program> program_;
  device::cpu::CpuDevice& device_;
  ExecutorOptions options_;
  const ElementwiseKernels& kernels_;
  ArenaPlan plan_;
  std::vector<PreparedWeight> prepared_;  // by weight id
  int64_t weight_bytes_ = 0, scratch_bytes_ = 0;

  device::cpu::HostBuffer arena_;
  ActivationBuffer activations_, expert_activations_;
  device::cpu::HostBuffer up_;                      // [max rows, widest F] of gated products
  std::vector<std::vector<float>> thread_scratch_;  // by member: attention

  // Mixture of experts, sized for max_rows; empty for dense models.
  struct ExpertGroup {
    int expert = 0;
    int64_t begin = 0, end = 0;  // range of assignments sorted by expert
  };
  std::vector<int32_t> expert_ids_;      // [rows, top_k] by rank
  std::vector<float> expert_weights_;    // [rows, top_k]
  std::vector<int32_t> assignment_row_;  // by sorted assignment: its row * top_k + rank
  std::vector<ExpertGroup> expert_groups_;
  device::cpu::HostBuffer moe_logits_, moe_gathered_, moe_hidden_, moe_out_;

  // The step being run.
  const StepInputs* inputs_ = nullptr;
  int64_t num_rows_ = 0, num_kept_ = 0;
  std::vector<int32_t> kept_positions_, kept_sequence_of_;
  struct RopeAngles {
    std::vector<float> cos_all, sin_all;    // [T, pairs]
    std::vector<float> cos_kept, sin_kept;  // [Tk, pairs]
  };
  std::vector<RopeAngles> rope_angles_;  // by rope
};

}  // namespace quern::ops::cpu
