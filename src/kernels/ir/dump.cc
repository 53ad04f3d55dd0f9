// The text of a kernel's IR: one statement a line, expressions in prefix form. Two kernels with one text are one
// kernel.
#include <fmt/format.h>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir {
namespace {

std::string TypeText(Type type) {
  return type.lanes == 1 ? std::string(NameOf(type.scalar)) : fmt::format("{}x{}", NameOf(type.scalar), type.lanes);
}

class Writer {
 public:
  explicit Writer(const Kernel& kernel) : kernel_(kernel) {}

  std::string Run() {
    Line("block {} warps, min_blocks {}", kernel_.warps, kernel_.min_blocks);
    for (const Param& p : kernel_.params)
      Line("param {} {} [{}, {}] multiple_of {}", NameOf(p.type), p.name, p.min, p.max, p.multiple_of);
    for (const Buffer& b : kernel_.buffers) {
      constexpr std::string_view kAccess[] = {"read", "write", "readwrite"};
      Line("buffer {} {} align {} bytes {}", kAccess[static_cast<size_t>(b.access)], b.name, b.align,
           Text(b.min_bytes));
    }
    for (const SharedArray& s : kernel_.shared) Line("shared {} {}", s.name, s.bytes);
    Line("tiles {}", Text(kernel_.num_tiles));
    Write(kernel_.body);
    return std::move(out_);
  }

  std::string Head(const Stmt& stmt) {
    std::visit([this](const auto& s) { Write(s); }, stmt.node);
    out_.resize(out_.find('\n'));
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  std::string Text(ExprId id) const {
    if (id == kNoExpr) return "-";
    const Expr& e = kernel_.expr(id);
    switch (e.op) {
      case Op::kConst:
        return fmt::format("{}:{:#x}", NameOf(e.type.scalar), e.value);
      case Op::kReg:
        return "%" + kernel_.registers[e.value].name;
      case Op::kParam:
        return "$" + kernel_.params[e.value].name;
      default:
        break;
    }
    std::string text = fmt::format("{}", NameOf(e.op));
    if (e.op == Op::kCast || e.op == Op::kBitcast) text += "." + TypeText(e.type);
    if (e.op == Op::kExtract) text += fmt::format(".{}", e.value);
    if (e.num_args == 0) return text;
    text += "(";
    for (int i = 0; i < e.num_args; ++i) text += (i == 0 ? "" : ", ") + Text(e.args[i]);
    return text + ")";
  }

  std::string Dst(RegId reg) const {
    return fmt::format("%{}:{}", kernel_.registers[reg].name, TypeText(kernel_.registers[reg].type));
  }

  void Write(const Block& block) {
    ++depth_;
    for (const Stmt& stmt : block) std::visit([this](const auto& s) { Write(s); }, stmt.node);
    --depth_;
  }
  void Write(const SetStmt& s) { Line("{} = {}", Dst(s.dst), Text(s.value)); }
  void Write(const ForStmt& s) {
    Line("for %{} = {} to {} step {} unroll {} {}", kernel_.registers[s.var].name, Text(s.begin), Text(s.end), s.step,
         s.unroll, NameOf(s.uniform));
    Write(s.body);
  }
  void Write(const IfStmt& s) {
    Line("if {} {}", NameOf(s.uniform), Text(s.condition));
    Write(s.then_body);
    if (s.else_body.empty()) return;
    Line("else");
    Write(s.else_body);
  }
  void Write(const LoadGlobalStmt& s) {
    Line("{} = load{} {}[{}] if {}", Dst(s.dst), s.cache == Cache::kStream ? ".stream" : "",
         kernel_.buffers[s.buffer].name, Text(s.offset), Text(s.predicate));
  }
  void Write(const StoreGlobalStmt& s) {
    Line("store {}[{}] = {} if {}", kernel_.buffers[s.buffer].name, Text(s.offset), Text(s.value), Text(s.predicate));
  }
  void Write(const LoadSharedStmt& s) {
    Line("{} = load_shared {}[{}]", Dst(s.dst), kernel_.shared[s.array].name, Text(s.offset));
  }
  void Write(const StoreSharedStmt& s) {
    Line("store_shared {}[{}] = {} if {}", kernel_.shared[s.array].name, Text(s.offset), Text(s.value),
         Text(s.predicate));
  }
  void Write(const BarrierStmt&) { Line("barrier"); }
  void Write(const WarpSyncStmt&) { Line("warp_sync"); }
  void Write(const ShuffleXorStmt& s) { Line("{} = shuffle_xor {} mask {}", Dst(s.dst), Text(s.value), s.mask); }
  void Write(const ShuffleIndexStmt& s) {
    Line("{} = shuffle_index {} source {}", Dst(s.dst), Text(s.value), Text(s.source));
  }
  void Write(const AsyncCopyStmt& s) {
    Line("async_copy {}[{}] = {}[{}] if {}", kernel_.shared[s.array].name, Text(s.shared_offset),
         kernel_.buffers[s.buffer].name, Text(s.global_offset), Text(s.predicate));
  }
  void Write(const AsyncCommitStmt&) { Line("async_commit"); }
  void Write(const AsyncWaitStmt& s) { Line("async_wait {}", s.pending); }
  void Write(const MmaStmt& s) {
    Line("{} = mma.{} {} {} {}", Dst(s.dst), NameOf(s.kind), Text(s.a), Text(s.b), Text(s.c));
  }
  void Write(const CommentStmt& s) { Line("; {}", s.text); }

  const Kernel& kernel_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string Dump(const Kernel& kernel) { return Writer(kernel).Run(); }

std::string DumpHead(const Kernel& kernel, const Stmt& stmt) { return Writer(kernel).Head(stmt); }

}  // namespace quern::kernels::ir
