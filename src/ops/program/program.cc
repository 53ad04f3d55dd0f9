#include "ops/program/program.h"

#include <algorithm>

namespace quern::ops {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace

OpUses UsesOf(const Op& op) {
  return std::visit(Overloaded{
                        [](const EmbedOp& o) {
                          return OpUses{{}, {o.out}};
                        },
                        [](const KeepRowsOp& o) {
                          return OpUses{{o.in}, {o.out}};
                        },
                        [](const RmsNormOp& o) {
                          return OpUses{{o.in}, {o.out}};
                        },
                        [](const NormAddOp& o) {
                          return OpUses{{o.in, o.residual}, {o.residual}};
                        },
                        [](const ProjectOp& o) {
                          OpUses uses{{o.in}, {}};
                          for (const ProjectOp::Output& output : o.outputs) uses.writes.push_back(output.out);
                          return uses;
                        },
                        [](const GatedProjectOp& o) {
                          return OpUses{{o.in}, {o.out}};
                        },
                        [](const HeadNormRopeOp& o) {
                          return OpUses{{o.value}, {o.value}};
                        },
                        [](const KvWriteOp& o) {
                          return OpUses{{o.k, o.v}, {}};
                        },
                        [](const AttentionOp& o) {
                          return OpUses{{o.q}, {o.out}};
                        },
                        [](const GeluMulOp& o) {
                          return OpUses{{o.in, o.other}, {o.out}};
                        },
                        [](const AddOp& o) {
                          return OpUses{{o.a, o.b}, {o.out}};
                        },
                        [](const MoeOp& o) {
                          return OpUses{{o.residual, o.in}, {o.out}};
                        },
                        [](const SoftcapOp& o) {
                          return OpUses{{o.value}, {o.value}};
                        },
                        [](const CopyOp& o) {
                          return OpUses{{o.in}, {o.out}};
                        },
                    },
                    op);
}

std::string_view NameOf(const Op& op) {
  constexpr std::string_view kNames[] = {
      "embed",    "keep_rows", "rms_norm", "norm_add", "project", "gated_project", "head_norm_rope",
      "kv_write", "attention", "gelu_mul", "add",      "moe",     "softcap",       "copy"};
  static_assert(std::size(kNames) == std::variant_size_v<Op>);
  return kNames[op.index()];
}

Weight ProgramBuilder::AddWeight(std::string_view name, const TensorView& view, WeightUse use, float vector_offset) {
  for (size_t i = 0; i < program_.weights.size(); ++i) {
    WeightSpec& known = program_.weights[i];
    if (known.name != name) continue;
    if (known.use != use) known.use = WeightUse::kTableAndMatrix;
    return Weight{static_cast<int32_t>(i)};
  }
  program_.weights.push_back({std::string(name), view, use, vector_offset});
  return Weight{static_cast<int32_t>(program_.weights.size()) - 1};
}

namespace {

// Checks one program: every operation against the widths of its values and the shapes of its weights.
class Checker {
 public:
  explicit Checker(const Program& program) : program_(program) {}

  Status Check(const Op& op) {
    return std::visit([&](const auto& o) { return CheckOne(o); }, op);
  }

 private:
  int64_t Width(Value value) const { return program_.values[value.id].width; }
  RowGroup Rows(Value value) const { return program_.values[value.id].rows; }
  const WeightSpec& Spec(Weight weight) const { return program_.weights[weight.id]; }

  Status ExpectShape(Weight weight, const Shape& wanted) const {
    const WeightSpec& spec = Spec(weight);
    if (spec.view.shape == wanted) return {};
    return Fail(Code::kCorrupt, "tensor {} has shape {}, expected {}", spec.name, spec.view.shape.ToString(),
                wanted.ToString());
  }
  Status ExpectVector(Weight weight, int64_t length) const {
    if (!weight.valid()) return {};
    return ExpectShape(weight, {length});
  }
  // Programmer errors: a model's own code connects values.
  void SameRows(Value a, Value b) const { QUERN_CHECK(Rows(a) == Rows(b)); }
  void SameWidth(Value a, Value b) const { QUERN_CHECK(Width(a) == Width(b)); }

  Status CheckOne(const EmbedOp& o) const {
    QUERN_CHECK(Rows(o.out) == RowGroup::kAll);
    return ExpectShape(o.table, {Spec(o.table).view.shape[0], Width(o.out)});
  }
  Status CheckOne(const KeepRowsOp& o) const {
    QUERN_CHECK(Rows(o.in) == RowGroup::kAll && Rows(o.out) == RowGroup::kKept);
    QUERN_CHECK(o.begin >= 0 && o.begin + Width(o.out) <= Width(o.in));
    return {};
  }
  Status CheckOne(const RmsNormOp& o) const {
    SameRows(o.in, o.out);
    SameWidth(o.in, o.out);
    QUERN_CHECK(o.group_width > 0 && Width(o.in) % o.group_width == 0);
    return ExpectVector(o.weight, o.group_width);
  }
  Status CheckOne(const NormAddOp& o) const {
    SameRows(o.in, o.residual);
    SameWidth(o.in, o.residual);
    QUERN_TRY(ExpectVector(o.scale, 1));
    return ExpectVector(o.weight, Width(o.in));
  }
  Status CheckOne(const ProjectOp& o) const {
    for (const ProjectOp::Output& output : o.outputs) {
      SameRows(o.in, output.out);
      QUERN_TRY(ExpectShape(output.weight, {Width(output.out), Width(o.in)}));
    }
    return {};
  }
  Status CheckOne(const GatedProjectOp& o) const {
    SameRows(o.in, o.out);
    QUERN_TRY(ExpectShape(o.gate, {Width(o.out), Width(o.in)}));
    return ExpectShape(o.up, {Width(o.out), Width(o.in)});
  }
  Status CheckOne(const HeadNormRopeOp& o) const {
    QUERN_CHECK(Width(o.value) == int64_t{o.num_heads} * o.head_dim);
    QUERN_CHECK(o.rope < static_cast<int>(program_.ropes.size()));
    return ExpectVector(o.norm, o.head_dim);
  }
  Status CheckOne(const KvWriteOp& o) const {
    const KvGroupSpec& group = program_.kv.groups[o.slot.group];
    QUERN_CHECK(Rows(o.k) == RowGroup::kAll && Rows(o.v) == RowGroup::kAll && o.slot.layer < group.num_layers);
    QUERN_CHECK(Width(o.k) == int64_t{group.num_kv_heads} * group.head_dim && Width(o.v) == Width(o.k));
    return {};
  }
  Status CheckOne(const AttentionOp& o) const {
    const KvGroupSpec& group = program_.kv.groups[o.slot.group];
    SameRows(o.q, o.out);
    SameWidth(o.q, o.out);
    QUERN_CHECK(Width(o.q) == int64_t{o.num_heads} * group.head_dim && o.num_heads % group.num_kv_heads == 0);
    return {};
  }
  Status CheckOne(const GeluMulOp& o) const {
    SameRows(o.in, o.other);
    SameRows(o.in, o.out);
    SameWidth(o.in, o.out);
    QUERN_CHECK(o.begin >= 0 && o.begin + Width(o.in) <= Width(o.other));
    return {};
  }
  Status CheckOne(const AddOp& o) const {
    SameRows(o.a, o.b);
    SameRows(o.a, o.out);
    SameWidth(o.a, o.b);
    SameWidth(o.a, o.out);
    return {};
  }
  Status CheckOne(const MoeOp& o) const {
    const int64_t d = Width(o.in);
    SameWidth(o.in, o.residual);
    SameWidth(o.in, o.out);
    const int64_t experts = Spec(o.per_expert_scale).view.shape.num_elems();
    QUERN_TRY(ExpectShape(o.router, {experts, d}));
    QUERN_TRY(ExpectVector(o.router_scale, d));
    const int64_t f = Spec(o.down).view.shape.back();
    QUERN_TRY(ExpectShape(o.down, {experts, d, f}));
    if (o.gate_up.valid()) {
      QUERN_TRY(ExpectShape(o.gate_up, {experts, 2 * f, d}));
    } else {
      QUERN_TRY(ExpectShape(o.gate, {experts, f, d}));
      QUERN_TRY(ExpectShape(o.up, {experts, f, d}));
    }
    if (o.top_k < 1 || o.top_k > experts) {
      return Fail(Code::kCorrupt, "{} experts per token of {} experts in tensor {}", o.top_k, experts,
                  Spec(o.router).name);
    }
    return {};
  }
  Status CheckOne(const SoftcapOp&) const { return {}; }
  Status CheckOne(const CopyOp& o) const {
    SameRows(o.in, o.out);
    SameWidth(o.in, o.out);
    return {};
  }

  const Program& program_;
};

}  // namespace

Result<Program> ProgramBuilder::Finish() && {
  Checker checker(program_);
  for (const Op& op : program_.ops) QUERN_TRY(checker.Check(op));
  return std::move(program_);
}

}  // namespace quern::ops
