#include "kernels/ir/verify/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace quern::kernels::ir::verify {

Report::Report(const Kernel& kernel) : kernel_(kernel) { Index(kernel.body, ""); }

void Report::Index(const Block& block, const std::string& prefix) {
  for (size_t i = 0; i < block.size(); ++i) {
    const std::string path = prefix + std::to_string(i);
    paths_[&block[i]] = path;
    if (const auto* loop = std::get_if<ForStmt>(&block[i].node)) Index(loop->body, path + ".");
    if (const auto* branch = std::get_if<IfStmt>(&block[i].node)) {
      Index(branch->then_body, path + ".then.");
      Index(branch->else_body, path + ".else.");
    }
  }
}

void Report::Add(Rule rule, const Stmt& stmt, std::string message) {
  std::string where = paths_.at(&stmt);
  if (printable_) where += ": " + DumpHead(kernel_, stmt);
  Push({rule, std::move(where), std::move(message)});
}

void Report::AddHead(Rule rule, std::string part, std::string message) {
  Push({rule, std::move(part), std::move(message)});
}

void Report::Push(Violation violation) {
  const bool known = std::any_of(violations_.begin(), violations_.end(), [&](const Violation& v) {
    return v.rule == violation.rule && v.where == violation.where && v.message == violation.message;
  });
  if (!known) violations_.push_back(std::move(violation));
}

}  // namespace quern::kernels::ir::verify
