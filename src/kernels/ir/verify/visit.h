// Walks over statements and expressions that several passes need. No state, no checks.
#pragma once

#include <optional>
#include <vector>

#include "kernels/ir/kernel.h"

namespace quern::kernels::ir::verify {

// The expressions that the statement itself evaluates, without those of nested statements.
std::vector<ExprId> OperandsOf(const Stmt& stmt);
// The register that the statement sets; for a loop none (its variable belongs to the body).
std::optional<RegId> WrittenBy(const Stmt& stmt);
// How many statements set each register; a loop's variable counts as one.
std::vector<uint32_t> CountWrites(const Kernel& kernel);

// Every statement, parents first.
template <typename F>
void ForEachStmt(const Block& block, const F& f) {
  for (const Stmt& stmt : block) {
    f(stmt);
    if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) ForEachStmt(loop->body, f);
    if (const auto* branch = std::get_if<IfStmt>(&stmt.node)) {
      ForEachStmt(branch->then_body, f);
      ForEachStmt(branch->else_body, f);
    }
  }
}

// The expressions that `root` reads, itself included, each once.
std::vector<ExprId> NodesOf(const Kernel& kernel, ExprId root);

}  // namespace quern::kernels::ir::verify
