// Ways through a kernel's statements and expressions that several rules share. Internal to the verifier.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::verify {

inline constexpr RegId kNoReg = ~RegId{0};

// How many arguments an operation has; -1 for those of a vector.
int Arity(Op op);
// "store to y"
std::string Describe(const Kernel& kernel, const Stmt& stmt);
// The register that the statement itself sets, loop variables included, or kNoReg.
RegId Written(const Stmt& stmt);

// The operands of the statement itself, not of its blocks; absent ones are left out.
template <typename Visit>
void ForEachOperand(const Stmt& stmt, const Visit& visit) {
  const auto give = [&](std::initializer_list<ExprId> ids) {
    for (const ExprId id : ids) {
      if (id != kNoExpr) visit(id);
    }
  };
  std::visit(
      [&](const auto& s) {
        using S = std::decay_t<decltype(s)>;
        if constexpr (std::is_same_v<S, SetStmt> || std::is_same_v<S, ShuffleXorStmt>) give({s.value});
        if constexpr (std::is_same_v<S, ForStmt>) give({s.begin, s.end});
        if constexpr (std::is_same_v<S, IfStmt>) give({s.condition});
        if constexpr (std::is_same_v<S, LoadGlobalStmt>) give({s.offset, s.predicate});
        if constexpr (std::is_same_v<S, StoreGlobalStmt> || std::is_same_v<S, StoreSharedStmt>)
          give({s.offset, s.value, s.predicate});
        if constexpr (std::is_same_v<S, LoadSharedStmt>) give({s.offset});
        if constexpr (std::is_same_v<S, ShuffleIndexStmt>) give({s.value, s.source});
        if constexpr (std::is_same_v<S, AsyncCopyStmt>) give({s.shared_offset, s.global_offset, s.predicate});
        if constexpr (std::is_same_v<S, MmaStmt>) give({s.a, s.b, s.c});
      },
      stmt.node);
}

// Every statement, blocks inside of it after it.
template <typename Visit>
void ForEachStmt(const Block& block, const Visit& visit) {
  for (const Stmt& stmt : block) {
    visit(stmt);
    if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) ForEachStmt(loop->body, visit);
    if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
      ForEachStmt(branch->then_body, visit);
      ForEachStmt(branch->else_body, visit);
    }
  }
}

// Every expression of the tree, arguments first.
template <typename Visit>
void ForEachExpr(const Kernel& kernel, ExprId id, const Visit& visit) {
  const Expr& e = kernel.expr(id);
  for (int i = 0; i < e.num_args; ++i) ForEachExpr(kernel, e.args[i], visit);
  visit(e);
}

}  // namespace quern::kernels::ir::verify
