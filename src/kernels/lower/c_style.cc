#include "kernels/lower/c_style.h"

#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "kernels/lower/expression.h"

namespace quern::kernels::lower {
namespace {

using namespace ir;  // NOLINT: this file prints the IR

// How often each register is set, and whether it is a loop's variable.
class AssignmentCount {
 public:
  explicit AssignmentCount(const Kernel& kernel) : counts_(kernel.registers.size(), 0) { Visit(kernel.body); }
  uint32_t of(RegId reg) const { return counts_[reg]; }

 private:
  void Visit(const Block& block) {
    for (const Stmt& stmt : block) {
      if (const auto* s = std::get_if<ForStmt>(&stmt.node)) {
        Visit(s->body);
      } else if (const auto* i = std::get_if<IfStmt>(&stmt.node)) {
        Visit(i->then_body);
        Visit(i->else_body);
      } else if (const RegId* dst = Destination(stmt)) {
        ++counts_[*dst];
      }
    }
  }
  static const RegId* Destination(const Stmt& stmt) {
    return std::visit(
        [](const auto& s) -> const RegId* {
          if constexpr (requires { s.dst; }) return &s.dst;
          return nullptr;
        },
        stmt.node);
  }
  std::vector<uint32_t> counts_;
};

class BodyPrinter {
 public:
  BodyPrinter(const Kernel& kernel, const Dialect& dialect)
      : kernel_(kernel), dialect_(dialect), counts_(kernel), expr_(kernel, dialect.hex_floats) {}

  std::string Run(std::string_view buffer_format) {
    Line("const qk_u32 tid = qk_thread(), lane = tid & 31u, warp = tid >> 5;");
    Line("(void)tid; (void)lane; (void)warp; (void)tile; (void)smem;");
    uint32_t next_u = 0, next_f = 0;
    for (const Param& p : kernel_.params) {
      if (p.type == Scalar::kU32) {
        Line("const qk_u32 {} = args.u[{}];", p.name, next_u++);
      } else {
        Line("const qk_f32 {} = args.f[{}];", p.name, next_f++);
      }
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = kernel_.buffers[i];
      const std::string_view type = b.access == Access::kRead ? dialect_.const_global : dialect_.global;
      Line("{} const {} = ({}){};", type, b.name, type, fmt::format(fmt::runtime(buffer_format), i));
    }
    for (uint32_t i = 0; i < kernel_.shared.size(); ++i) {
      Line("{} const {} = smem + {};  // {} bytes", dialect_.shared, kernel_.shared[i].name, kernel_.shared_offset(i),
           kernel_.shared[i].bytes);
    }
    // Registers that are set more than once; the others are constants where they are set.
    for (RegId r = 0; r < kernel_.registers.size(); ++r) {
      if (counts_.of(r) > 1) Line("{} {};", TypeName(kernel_.registers[r].type), kernel_.registers[r].name);
    }
    depth_ = 0;
    Print(kernel_.body);
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  std::string Text(ExprId id) const { return expr_.Text(id); }
  const std::string& Name(RegId reg) const { return kernel_.registers[reg].name; }

  // "dst = " or, where this is its only assignment, "const qk_u32 dst = ".
  std::string Target(RegId reg) const {
    return counts_.of(reg) > 1 ? Name(reg)
                               : fmt::format("const {} {}", TypeName(kernel_.registers[reg].type), Name(reg));
  }

  void Print(const Block& block) {
    ++depth_;
    for (const Stmt& stmt : block) std::visit([this](const auto& s) { Print(s); }, stmt.node);
    --depth_;
  }
  void Print(const SetStmt& s) { Line("{} = {};", Target(s.dst), Text(s.value)); }
  void Print(const ForStmt& s) {
    if (s.unroll != 0) out_ += fmt::format(fmt::runtime(dialect_.unroll), s.unroll) + "\n";
    Line("for (qk_u32 {0} = {1}; {0} < {2}; {0} += {3}u) {{", Name(s.var), Text(s.begin), Text(s.end), s.step);
    Print(s.body);
    Line("}}");
  }
  void Print(const IfStmt& s) {
    Line("if ({}) {{", Text(s.condition));
    Print(s.then_body);
    if (!s.else_body.empty()) {
      Line("}} else {{");
      Print(s.else_body);
    }
    Line("}}");
  }
  void Print(const LoadGlobalStmt& s) {
    const Buffer& b = kernel_.buffers[s.buffer];
    const std::string type = TypeName(kernel_.registers[s.dst].type);
    const std::string_view load = b.access != Access::kRead   ? "qk_load"
                                  : s.cache == Cache::kStream ? "qk_load_stream"
                                                              : "qk_load_const";
    const std::string value = fmt::format("{}<{}>({} + {})", load, type, b.name, Text(s.offset));
    if (s.predicate == kNoExpr) return Line("{} = {};", Target(s.dst), value);
    Line("{} = {} ? {} : {}{{}};", Target(s.dst), Text(s.predicate), value, type);
  }
  void Print(const StoreGlobalStmt& s) {
    const std::string store = fmt::format("qk_store<{}>({} + {}, {});", TypeName(kernel_.expr(s.value).type),
                                          kernel_.buffers[s.buffer].name, Text(s.offset), Text(s.value));
    s.predicate == kNoExpr ? Line("{}", store) : Line("if ({}) {}", Text(s.predicate), store);
  }
  void Print(const LoadSharedStmt& s) {
    Line("{} = qk_load_shared<{}>({} + {});", Target(s.dst), TypeName(kernel_.registers[s.dst].type),
         kernel_.shared[s.array].name, Text(s.offset));
  }
  void Print(const StoreSharedStmt& s) {
    const std::string store = fmt::format("qk_store_shared<{}>({} + {}, {});", TypeName(kernel_.expr(s.value).type),
                                          kernel_.shared[s.array].name, Text(s.offset), Text(s.value));
    s.predicate == kNoExpr ? Line("{}", store) : Line("if ({}) {}", Text(s.predicate), store);
  }
  void Print(const BarrierStmt&) { Line("qk_barrier();"); }
  void Print(const WarpSyncStmt&) { Line("qk_warp_sync();"); }
  void Print(const ShuffleXorStmt& s) { Line("{} = qk_shuffle_xor({}, {}u);", Target(s.dst), Text(s.value), s.mask); }
  void Print(const ShuffleIndexStmt& s) {
    Line("{} = qk_shuffle_index({}, {});", Target(s.dst), Text(s.value), Text(s.source));
  }
  void Print(const AsyncCopyStmt& s) {
    const std::string places = fmt::format("{} + {}, {} + {}", kernel_.shared[s.array].name, Text(s.shared_offset),
                                           kernel_.buffers[s.buffer].name, Text(s.global_offset));
    s.predicate == kNoExpr ? Line("qk_async_copy({});", places)
                           : Line("qk_async_copy_if({}, {});", places, Text(s.predicate));
  }
  void Print(const AsyncCommitStmt&) { Line("qk_async_commit();"); }
  void Print(const AsyncWaitStmt& s) { Line("qk_async_wait<{}>();", s.pending); }
  void Print(const MmaStmt& s) {
    constexpr std::string_view kNames[] = {"f16_k16", "bf16_k16", "u8s8_k32", "s8s8_k32", "u8s8_k16", "s8s8_k16"};
    Line("{} = qk_mma_{}({}, {}, {});", Target(s.dst), kNames[static_cast<size_t>(s.kind)], Text(s.a), Text(s.b),
         Text(s.c));
  }
  void Print(const CommentStmt& s) { Line("// {}", s.text); }

  const Kernel& kernel_;
  const Dialect& dialect_;
  AssignmentCount counts_;
  ExpressionPrinter expr_;
  std::string out_;
  size_t depth_ = 1;
};

bool HasAsync(const Block& block) {
  for (const Stmt& stmt : block) {
    if (std::holds_alternative<AsyncCopyStmt>(stmt.node)) return true;
    if (const auto* s = std::get_if<ForStmt>(&stmt.node); s && HasAsync(s->body)) return true;
    if (const auto* s = std::get_if<IfStmt>(&stmt.node); s && (HasAsync(s->then_body) || HasAsync(s->else_body)))
      return true;
  }
  return false;
}

}  // namespace

std::string FileHeader() { return "// Generated by kernelgen 1. Do not edit: run make generate.\n"; }

std::string KernelComment(const Source& source) {
  return fmt::format("\n// {}\n// {}\n// {}\n// ir sha256 {}\n", source.kernel->id, source.descriptor, source.schedule,
                     Sha256Hex(Dump(*source.kernel)));
}

std::string TileBody(const Kernel& kernel, const Dialect& dialect, std::string_view buffer_format) {
  return BodyPrinter(kernel, dialect).Run(buffer_format);
}

bool HasAsyncCopies(const Kernel& kernel) { return HasAsync(kernel.body); }

}  // namespace quern::kernels::lower
