#include "kernels/ir/verify/visit.h"

#include <set>
#include <type_traits>

namespace quern::kernels::ir::verify {
namespace {

template <typename... T>
struct Overloaded : T... {
  using T::operator()...;
};
template <typename... T>
Overloaded(T...) -> Overloaded<T...>;

}  // namespace

std::vector<ExprId> OperandsOf(const Stmt& stmt) {
  std::vector<ExprId> ids = std::visit(Overloaded{
                                           [](const SetStmt& s) { return std::vector{s.value}; },
                                           [](const ForStmt& s) {
                                             return std::vector{s.begin, s.end};
                                           },
                                           [](const IfStmt& s) { return std::vector{s.condition}; },
                                           [](const LoadGlobalStmt& s) {
                                             return std::vector{s.offset, s.predicate};
                                           },
                                           [](const StoreGlobalStmt& s) {
                                             return std::vector{s.offset, s.value, s.predicate};
                                           },
                                           [](const LoadSharedStmt& s) { return std::vector{s.offset}; },
                                           [](const StoreSharedStmt& s) {
                                             return std::vector{s.offset, s.value, s.predicate};
                                           },
                                           [](const ShuffleXorStmt& s) { return std::vector{s.value}; },
                                           [](const ShuffleIndexStmt& s) {
                                             return std::vector{s.value, s.source};
                                           },
                                           [](const AsyncCopyStmt& s) {
                                             return std::vector{s.shared_offset, s.global_offset, s.predicate};
                                           },
                                           [](const MmaStmt& s) {
                                             return std::vector{s.a, s.b, s.c};
                                           },
                                           [](const auto&) { return std::vector<ExprId>{}; },
                                       },
                                       stmt.node);
  std::erase(ids, kNoExpr);
  return ids;
}

std::optional<RegId> WrittenBy(const Stmt& stmt) {
  return std::visit(
      [](const auto& s) -> std::optional<RegId> {
        if constexpr (requires { s.dst; })
          return s.dst;
        else
          return std::nullopt;
      },
      stmt.node);
}

std::vector<uint32_t> CountWrites(const Kernel& kernel) {
  std::vector<uint32_t> writes(kernel.registers.size());
  ForEachStmt(kernel.body, [&](const Stmt& stmt) {
    if (const auto reg = WrittenBy(stmt)) ++writes[*reg];
    if (const auto* loop = std::get_if<ForStmt>(&stmt.node)) ++writes[loop->var];
  });
  return writes;
}

std::vector<ExprId> NodesOf(const Kernel& kernel, ExprId root) {
  std::vector<ExprId> nodes{root};
  std::set<ExprId> seen{root};
  for (size_t next = 0; next < nodes.size(); ++next) {
    const Expr& e = kernel.expr(nodes[next]);
    for (int i = 0; i < e.num_args; ++i)
      if (seen.insert(e.args[i]).second) nodes.push_back(e.args[i]);
  }
  return nodes;
}

}  // namespace quern::kernels::ir::verify
