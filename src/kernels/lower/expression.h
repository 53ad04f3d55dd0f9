// Prints expressions of the IR for C-like languages. Names are those of device_text/qk_types.h.
#pragma once

#include <string>

#include "kernels/ir/kernel.h"

namespace quern::kernels::lower {

std::string TypeName(ir::Type type);  // "qk_u32x4"; f16 and bf16 are held as their bits, qk_u16

class ExpressionPrinter {
 public:
  ExpressionPrinter(const ir::Kernel& kernel, bool hex_floats) : kernel_(kernel), hex_floats_(hex_floats) {}
  virtual ~ExpressionPrinter() = default;

  std::string Text(ir::ExprId id) const;

 protected:
  // How a register and the numbers of a thread are spelt; the lockstep form indexes arrays.
  virtual std::string Leaf(const ir::Expr& expr) const;

  const ir::Kernel& kernel_;

 private:
  std::string Constant(const ir::Expr& expr) const;
  std::string Cast(const ir::Expr& expr) const;
  std::string Bitcast(const ir::Expr& expr) const;

  bool hex_floats_;
};

}  // namespace quern::kernels::lower
