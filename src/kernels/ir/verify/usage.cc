// V10: what nobody reads should not be there: a parameter or a buffer without use, a register that is set in vain.
#include <vector>

#include "kernels/ir/verify/rules.h"
#include "kernels/ir/verify/walk.h"

namespace quern::kernels::ir::verify {

void CheckUsed(const Kernel& k, Violations& out) {
  std::vector<bool> params(k.params.size()), read(k.registers.size()), set(k.registers.size());
  std::vector<bool> loaded(k.buffers.size()), stored(k.buffers.size()), arrays(k.shared.size());
  const auto use = [&](ExprId id) {
    ForEachExpr(k, id, [&](const Expr& e) {
      if (e.op == Op::kParam) params[e.value] = true;
      if (e.op == Op::kReg) read[e.value] = true;
    });
  };
  use(k.num_tiles);
  for (const Buffer& b : k.buffers) use(b.min_bytes);
  ForEachStmt(k.body, [&](const Stmt& stmt) {
    ForEachOperand(stmt, use);
    // A loop may count turns alone.
    const RegId dst = Written(stmt);
    if (dst != kNoReg && !std::holds_alternative<ForStmt>(stmt.node)) set[dst] = true;
    if (const auto* s = std::get_if<LoadGlobalStmt>(&stmt.node)) loaded[s->buffer] = true;
    if (const auto* s = std::get_if<StoreGlobalStmt>(&stmt.node)) stored[s->buffer] = true;
    if (const auto* s = std::get_if<LoadSharedStmt>(&stmt.node)) arrays[s->array] = true;
    if (const auto* s = std::get_if<AsyncCopyStmt>(&stmt.node)) loaded[s->buffer] = true;
  });
  for (size_t i = 0; i < params.size(); ++i) {
    if (!params[i]) out.push_back({Rule::kUsed, "parameter " + k.params[i].name, "nothing uses it"});
  }
  for (size_t i = 0; i < loaded.size(); ++i) {
    const Access access = k.buffers[i].access;
    if (access != Access::kWrite && !loaded[i])
      out.push_back({Rule::kUsed, "buffer " + k.buffers[i].name, "nothing reads it"});
    if (access != Access::kRead && !stored[i])
      out.push_back({Rule::kUsed, "buffer " + k.buffers[i].name, "nothing writes it"});
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i]) out.push_back({Rule::kUsed, "shared array " + k.shared[i].name, "nothing reads it"});
  }
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i] && !read[i]) out.push_back({Rule::kUsed, "register " + k.registers[i].name, "it is set and never read"});
  }
}

}  // namespace quern::kernels::ir::verify
