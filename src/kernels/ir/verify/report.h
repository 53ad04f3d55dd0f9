// Report: where the passes of the verifier put what they find. One per Verify call; not shared between threads.
// It knows the place of every statement, so that a pass names only the statement.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/ir/kernel.h"
#include "kernels/ir/verify.h"

namespace quern::kernels::ir::verify {

class Report {
 public:
  explicit Report(const Kernel& kernel);

  void Add(Rule rule, const Stmt& stmt, std::string message);
  void AddHead(Rule rule, std::string part, std::string message);  // of a buffer, a parameter, the tiles

  // Until indices are known to be valid a statement cannot be printed, and its path alone is given.
  void set_printable(bool printable) { printable_ = printable; }
  bool empty() const { return violations_.empty(); }
  std::vector<Violation> Take() && { return std::move(violations_); }

 private:
  void Index(const Block& block, const std::string& prefix);
  void Push(Violation violation);  // once each: passes may visit a statement again

  const Kernel& kernel_;
  std::map<const Stmt*, std::string> paths_;
  std::vector<Violation> violations_;
  bool printable_ = false;
};

}  // namespace quern::kernels::ir::verify
